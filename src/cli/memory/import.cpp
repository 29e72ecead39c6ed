// Lines into the store: in batches, each committed before the next is sent.
#include "base/printable.hpp"
#include "base/text.hpp"
#include "cli/memory/client.hpp"
#include "cli/memory/line_source.hpp"
#include "cli/memory/memory.hpp"
#include "cli/memory/progress_bar.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/print.hpp"
#include "cli/shared/settings.hpp"
#include "sys/errors.hpp"
#include "sys/own_rights.hpp"
#include "sys/whole_file.hpp"
#include "json/json_fields.hpp"
#include "json/json_parse.hpp"
#include "json/json_write.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace holdfast::cli {

using base::cat;

namespace {

constexpr std::size_t batch_lines = 1000;
constexpr std::size_t batch_bytes = std::size_t{1} << 20;
constexpr std::size_t most_named = 10; // bad lines that are named one by one

struct Tally {
    std::uint64_t stored = 0;
    std::uint64_t present = 0;
    std::uint64_t bad = 0;
    std::uint64_t lines = 0;
    std::uint64_t total = 0; // of lines, when the source says so
};

class Importer {
public:
    Importer(MemoryClient& client, bool skip_bad, sys::Fd rejects)
        : client_(client)
        , skip_bad_(skip_bad)
        , rejects_(std::move(rejects)) {}

    // False: a bad line, and bad lines end it. The lines before it are stored.
    Result<bool> take(const LineSource::Line& line) {
        if (line.too_long)
            return flush_then_bad(
                line.number, line.text,
                cat("the line is longer than ", (LineSource::longest_line >> 20) + 1, " MiB"));
        auto record = json::parse(line.text, {.half_pairs = json::HalfPairs::replaced});
        if (!record)
            return flush_then_bad(line.number, line.text, cat("not JSON: ", record.error().message));
        if (const auto* object = record->if_object();
            object != nullptr && json::text_field(*object, "type") == "lines") {
            tally.total = json::unsigned_field(*object, "total");
            return true;
        }
        if (bytes_ + line.text.size() > batch_bytes || records_.size() >= batch_lines)
            if (auto done = flush(); !done || !*done)
                return done;
        bytes_ += line.text.size();
        numbers_.push_back(line.number);
        if (rejects_)
            texts_.emplace_back(line.text);
        records_.push_back(std::move(*record));
        return true;
    }

    Result<bool> flush() {
        if (records_.empty())
            return true;
        auto answer =
            client_.call("transfer.import", {{"records", std::move(records_)}, {"stopAtFirst", !skip_bad_}});
        if (!answer)
            return std::unexpected(std::move(answer.error()));
        const auto* shown = answer->if_object();
        if (shown == nullptr)
            return fail(Errc::protocol, "holdfast-memory gave an answer that is none");
        tally.stored += json::unsigned_field(*shown, "stored");
        tally.present += json::unsigned_field(*shown, "present");
        tally.lines += json::unsigned_field(*shown, "taken");
        bool go_on = true;
        if (const auto* refused = shown->if_contains("refused"); refused != nullptr && refused->is_array())
            for (const auto& one : refused->get_array())
                if (const auto* record = one.if_object()) {
                    const auto index = json::unsigned_field(*record, "index");
                    go_on =
                        bad(index < numbers_.size() ? numbers_[index] : 0,
                            index < texts_.size() ? texts_[index] : "", json::text_field(*record, "reason"));
                }
        records_ = {};
        numbers_.clear();
        texts_.clear();
        bytes_ = 0;
        return go_on;
    }

    Tally tally;
    json::array problems;

private:
    Result<bool> flush_then_bad(std::uint64_t number, std::string_view text, std::string reason) {
        if (auto done = flush(); !done || !*done)
            return done;
        ++tally.lines;
        return bad(number, text, std::move(reason));
    }
    bool bad(std::uint64_t number, std::string_view text, std::string reason) {
        if (++tally.bad <= most_named || !skip_bad_)
            complain(cat("line ", number, ": ", base::printable(reason)));
        else if (tally.bad == most_named + 1)
            complain("… and more; they are counted");
        if (problems.size() < 1000)
            problems.push_back({{"line", number}, {"reason", reason}});
        if (rejects_ && sys::write_all(rejects_.get(), cat(text, '\n')) != 0) {
            complain("the file for rejected lines cannot be written; the import stops here");
            return false;
        }
        return skip_bad_;
    }

    MemoryClient& client_;
    bool skip_bad_;
    sys::Fd rejects_;
    json::array records_;
    std::vector<std::uint64_t> numbers_;
    std::vector<std::string> texts_; // kept only where rejected lines are written out
    std::size_t bytes_ = 0;
};

int summary(const Arguments& arguments, const Importer& importer, const std::string& name,
            const Result<bool>& ended) {
    const Tally& tally = importer.tally;
    const bool whole = ended && *ended;
    int written = exit_ok;
    if (arguments.has("json")) {
        written = answer_json(json::to_text(json::object{{"stored", tally.stored},
                                                         {"present", tally.present},
                                                         {"bad", tally.bad},
                                                         {"complete", whole},
                                                         {"problems", importer.problems}}));
    } else if (!arguments.has("quiet")) {
        complain(cat(tally.stored, " stored, ", tally.present, " there already, ", tally.bad, " bad",
                     whole ? "" : ", stopped"));
    }
    if (!ended)
        return fail_with(ended.error());
    if (!*ended) {
        complain(cat("the import of ", name,
                     " stopped at that line; what stands before it is stored. Mend the line and import again "
                     "(what is there "
                     "already is left as it is), or use --skip-bad"));
        return exit_bad_data;
    }
    return written;
}

// The file for bad lines, emptied; none when none is wanted. The lines that are being read are never emptied,
// whatever name they are given by.
Result<sys::Fd> rejects_of(const Arguments& arguments, const LineSource& source) {
    const auto path = arguments.value("rejects");
    if (!path)
        return sys::Fd();
    sys::Fd file(::open(path->c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    if (!file)
        return sys::fail_making(cat("create ", *path));
    sys::own_rights(file.get());
    if (source.is_file_of(file.get()))
        return fail(Errc::invalid_argument,
                    cat(*path, " is the file that is imported; choose another name for --rejects"));
    if (::ftruncate(file.get(), 0) != 0 && errno != EINVAL) // EINVAL: a pipe, or a device
        return sys::fail_making(cat("write ", *path));
    return file;
}

} // namespace

int memory_import_command(const Arguments& arguments) {
    const auto& name = arguments.words[0];
    if (arguments.has("rejects") && !arguments.has("skip-bad"))
        return fail_with({Errc::invalid_argument,
                          "--rejects needs --skip-bad: without it the import stops at the first bad line",
                          0});
    const auto timeout = duration_option(arguments, "timeout");
    if (!timeout)
        return fail_with(timeout.error());
    auto source = LineSource::open(name, *timeout);
    if (!source)
        return fail_with(source.error());
    auto rejects = rejects_of(arguments, *source);
    if (!rejects)
        return fail_with(rejects.error());
    auto home = memory_home(arguments);
    if (!home)
        return fail_with(home.error());
    auto client = MemoryClient::start(*home, arguments, "import");
    if (!client)
        return fail_with(client.error());
    Importer importer(*client, arguments.has("skip-bad"), std::move(*rejects));
    Result<bool> going = true;
    {
        ProgressBar bar("importing", !arguments.has("quiet"));
        while (going && *going) {
            auto line = source->next();
            if (!line) {
                // What could be read is stored all the same.
                going = importer.flush();
                if (going)
                    going = std::unexpected(std::move(line.error()));
                break;
            }
            if (!*line) {
                going = importer.flush();
                break;
            }
            going = importer.take(**line);
            const auto& tally = importer.tally;
            bar.show(tally.total > 0 ? tally.lines : source->bytes_read(),
                     tally.total > 0 ? tally.total : source->bytes_total(), cat(tally.lines, " lines"));
        }
    }
    return summary(arguments, importer, name, going);
}

} // namespace holdfast::cli
