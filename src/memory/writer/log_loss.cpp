#include "memory/writer/log_loss.hpp"

#include "base/text.hpp"
#include "memory/writer/aside.hpp"
#include "sys/errors.hpp"
#include "sys/fd.hpp"
#include "sys/new_file.hpp"
#include "sys/whole_file.hpp"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

namespace holdfast::memory {

using base::cat;
using database::LogState;
using database::LogWatch;

namespace {

constexpr std::string_view cut_mark = ".log-cut-";
constexpr std::string_view moved_mark = ".log-moved-";
constexpr std::string_view rows_end = ".rows";
// The last sentence of a note: until it is stored, and after that.
constexpr std::string_view saved_words = ". What the owner could still read of that, ";
constexpr std::string_view stored_words = ". What the owner could still read of that is stored again: ";

bool copy_file(const std::string& from, const std::string& to) {
    const sys::Fd source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
    const sys::Fd copy(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!source || !copy)
        return false;
    for (;;) {
        const auto n = ::sendfile(copy.get(), source.get(), nullptr, std::size_t{1} << 24);
        if (n <= 0)
            return n == 0;
    }
}

// Every frame of the open log into the database, so that the log is needed no more.
bool copy_back(Database& writer) {
    const auto copied = writer.checkpoint(database::Checkpoint::full);
    return copied.done && copied.frames == copied.copied;
}

// The file of rows, complete or not there; the sentence about it.
std::string save_rows(Database& writer, const std::string& note, const Unsaved& unsaved,
                      const SaveRows& save) {
    const auto name = cat(note, rows_end);
    auto file = sys::NewFile::open(name);
    if (!file || !save)
        return "";
    const auto saved = save(writer, unsaved, file->fd());
    if (!saved || saved->lines == 0)
        return "";
    if (!file->appear())
        return "";
    return cat(saved_words, saved->lines, saved->lines == 1 ? " line" : " lines", ", is in ", name,
               "; the next process that opens the store stores it");
}

} // namespace

std::string save_from_log(Database& writer, const LogWatch& log, LogState state, const std::string& path,
                          const Unsaved& unsaved, const SaveRows& save) {
    const auto place = path + "-wal";
    const auto extent = log.extent();
    const bool all_copied = extent.copied_frames >= extent.frames;
    if (state == LogState::elsewhere || all_copied) {
        // Away with the stranger first: closing removes what lies there, and the next owner would read it as
        // ours.
        const auto note = free_name(path, moved_mark);
        const bool renamed = std::rename(place.c_str(), (note + "-wal").c_str()) == 0;
        if (copy_back(writer) || all_copied) {
            if (state == LogState::cut)
                writer.keep_log_on_close();
            auto text =
                cat("the write-ahead log ", place, " was ",
                    state == LogState::cut ? "cut or overwritten"
                    : renamed              ? "replaced"
                                           : "moved or removed",
                    " while its owner used it. Nothing that was answered is lost: all of it is in ", path,
                    renamed ? cat(". What lay at the place of the log is kept as ", note, "-wal") : "");
            (void)sys::put_whole(note, text + "\n");
            return text;
        }
    }
    writer.keep_log_on_close();
    const auto note = free_name(path, cut_mark);
    const auto saved = save_rows(writer, note, unsaved, save);
    // The next owner reads what is left of the log only where that is newer than the database: older pages
    // over newer ones would be no database.
    const bool useful = state == LogState::cut && extent.left_frames >= extent.copying_frames;
    const bool kept =
        useful ? copy_file(place, note + "-wal") : std::rename(place.c_str(), (note + "-wal").c_str()) == 0;
    const auto left = useful ? extent.left_frames : extent.copied_frames;
    auto text =
        cat("the write-ahead log ", place, " was cut or overwritten while its owner used it: ", extent.bytes,
            " bytes of ", extent.wanted, " are left. Of ", extent.frames,
            " pages that were written since the log was begun, ", extent.frames - left,
            " are no longer on the disk; turns, notes and changes that were answered in that time may "
            "be missing.",
            kept ? cat(" What was left of the log is kept as ", note, "-wal.") : "",
            !useful && extent.copying_frames > extent.copied_frames
                ? " The database was being written at that moment and may be damaged."
                : "",
            " A backup has what is missing, if there is one. Let backup and clean-up tools leave ", path,
            "-wal alone", saved);
    (void)sys::put_whole(note, text + "\n");
    return text;
}

namespace {

std::string text_of_note(const std::string& note) {
    constexpr std::size_t most = 4096;
    std::string text = sys::read_rewritten(note, most).value_or("");
    while (text.ends_with('\n'))
        text.pop_back();
    return text;
}

} // namespace

std::vector<LogLoss> log_losses(const std::string& path) {
    std::vector<LogLoss> losses;
    for (const auto mark : {cut_mark, moved_mark}) {
        auto note = kept_aside(path, mark);
        if (note.empty())
            continue;
        auto text = text_of_note(note);
        losses.push_back({std::move(note), std::move(text), mark == cut_mark});
    }
    return losses;
}

std::vector<std::string> rows_to_bring_back(const std::string& path) {
    std::vector<std::string> found;
    const std::filesystem::path whole(path);
    const auto begin = cat(whole.filename().string(), cut_mark);
    std::error_code none;
    for (std::filesystem::directory_iterator entry(whole.parent_path(), none), end; !none && entry != end;
         entry.increment(none))
        if (const auto name = entry->path().filename().string();
            name.starts_with(begin) && name.ends_with(rows_end))
            found.push_back(entry->path().string());
    std::ranges::sort(found);
    return found;
}

Result<void> rows_are_brought_back(const std::string& rows, std::int64_t changes) {
    const auto note = rows.substr(0, rows.size() - rows_end.size());
    auto text = text_of_note(note);
    if (const auto at = text.find(saved_words); at != text.npos)
        (void)sys::put_whole(
            note, cat(text.substr(0, at), stored_words, changes, changes == 1 ? " change\n" : " changes\n"));
    // On the disk: one that came back after a power cut would undo what was done since.
    const sys::Fd folder(
        ::open(rows.substr(0, rows.rfind('/') + 1).c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
    if (::unlink(rows.c_str()) != 0 || !folder || ::fsync(folder.get()) != 0)
        return sys::fail_sys(cat("remove ", rows));
    return {};
}

} // namespace holdfast::memory
