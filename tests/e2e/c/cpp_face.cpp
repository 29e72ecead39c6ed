// The C++ face from an installed tree: cpp_face HELPER-COMMAND...
#include <holdfast/supervisor.hpp>

#include <cstdio>

int main(int argc, char** argv) {
    auto supervisor = holdfast::Supervisor::create();
    if (!supervisor) {
        std::fprintf(stderr, "%s\n", supervisor.error().message.c_str());
        return 1;
    }
    holdfast::HelperSpec spec;
    spec.command.assign(argv + 1, argv + argc);
    auto hold = supervisor->hold(spec);
    if (!hold)
        return 2;
    auto reply = hold->request("echo", R"(["from C++"])");
    return reply && reply->json == R"(["from C++"])" ? 0 : 3;
}
