#include "keep/keeper.hpp"
#include "keep/pid_namespace.hpp"

#include <string_view>

int main(int argc, char** argv) {
    if (argc > 1 && std::string_view(argv[1]) == holdfast::keep::namespace_word)
        return holdfast::keep::namespace_main(argc, argv);
    return holdfast::keep::keeper_main(argc, argv);
}
