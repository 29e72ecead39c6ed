#include "keep/scene.hpp"

#include "harness/pidfd.hpp"

#include <algorithm>
#include <filesystem>

namespace holdfast::harness {

Other::Other(pid_t pid)
    : pid_(pid) {
    if (auto opened = open_pidfd(pid))
        pidfd_ = std::move(*opened);
}

void Other::signal(int number) const {
    if (pidfd_.valid())
        (void)pidfd_signal(pidfd_.get(), number);
}

void Other::queue(int number, int value) const {
    EXPECT_EQ(pidfd_queue(pidfd_.get(), number, value), 0) << "signal " << number << " to " << pid_;
}

bool Other::ended(const Deadline& deadline) const {
    return !pidfd_.valid() || wait_pidfd(pidfd_.get(), deadline).has_value();
}

void Other::freeze() const {
    signal(SIGSTOP);
    EXPECT_TRUE(eventually(Deadline::in(patience),
                           [this] {
                               const auto info = inspect(pid_);
                               return !info || info->state == 'T' || info->dead();
                           }))
        << "process " << pid_ << " does not stop";
}

Other keeper_of(pid_t front) {
    Other found;
    EXPECT_TRUE(eventually(Deadline::in(patience),
                           [&] {
                               for (const auto& process : descendants(front))
                                   // By its name: just after its birth it still bears that of the front.
                                   if (process.ppid == front &&
                                       process.cmdline.starts_with("holdfast-keep")) {
                                       found = Other(process.pid);
                                       return true;
                                   }
                               return false;
                           }))
        << "the front " << front << " has no keeper";
    return found;
}

void Scene::begin(SpawnSpec spec, bool wait_ready) {
    spec.in = Stdio::pipe;
    auto host = Child::spawn(spec);
    ASSERT_TRUE(host) << host.error().message;
    host_ = std::move(*host);
    const auto line = host_.out().read_line(Deadline::in(patience));
    ASSERT_TRUE(line) << line.error().message;
    ASSERT_TRUE(line->starts_with("child ")) << *line;
    front_ = Other(static_cast<pid_t>(std::stol(line->substr(6))));
    if (!wait_ready)
        return;
    const auto said = wait_for_file(report_, Deadline::in(patience));
    ASSERT_TRUE(said) << said.error().message;
    const auto pids = parse_ready(*said);
    ASSERT_TRUE(pids) << *said;
    animals_ = *pids;
}

void Scene::start(SceneOptions options) {
    report_ = home_.dir().file("report." + std::to_string(started_++));
    std::vector<std::string> words = options.host;
    words.insert(words.end(), {"--", program("holdfast"), "run"});
    words.insert(words.end(), options.holdfast.begin(), options.holdfast.end());
    words.emplace_back("--");
    words.insert(words.end(), options.command.begin(), options.command.end());
    auto spec = home_.command_of("stage/keep_host", words);
    spec.env.push_back("ZOO_REPORT=" + report_);
    begin(std::move(spec), options.wait_ready);
    if (!testing::Test::HasFatalFailure() && options.wait_ready)
        keeper_ = keeper_of(front_.pid());
}

void Scene::start_unguarded(std::vector<std::string> command) {
    report_ = home_.dir().file("report." + std::to_string(started_++));
    command.insert(command.begin(), "--");
    auto spec = home_.command_of("stage/keep_host", command);
    spec.env.push_back("ZOO_REPORT=" + report_);
    begin(std::move(spec), true);
}

void Scene::find_keeper() {
    keeper_ = keeper_of(front_.pid());
}

void Scene::kill_both_guards() const {
    // Not the other way round: the kernel continues a stopped keeper whose front has died (an orphaned
    // process group).
    front_.freeze();
    keeper_.signal(SIGKILL);
    EXPECT_TRUE(keeper_.ended());
    front_.signal(SIGKILL);
    EXPECT_TRUE(front_.ended());
}

void Scene::tell_host(char letter) {
    const auto written = host_.write_in(std::string(1, letter));
    EXPECT_TRUE(written) << written.error().message;
}

int Scene::status() {
    tell_host('r');
    // Behind whatever the helper said last, which need not have been a whole line.
    const auto line = host_.out().read_line_matching(std::regex("status -?[0-9]+$"), Deadline::in(patience));
    EXPECT_TRUE(line) << line.error().message;
    return line ? std::stoi(line->substr(line->rfind("status ") + 7)) : -1;
}

std::vector<ProcessInfo> Scene::alive_now() const {
    auto found = marked_processes(home_.mark().token());
    std::erase_if(found, [this](const ProcessInfo& process) { return process.pid == host_.pid(); });
    return found;
}

std::vector<ProcessInfo> Scene::survivors(const Deadline& deadline) const {
    return settled_survivors(home_.mark().token(), deadline, host_.pid());
}

std::vector<std::string> registry_ids(const HoldfastHome& home) {
    std::vector<std::string> out;
    std::error_code none;
    for (const auto& file : std::filesystem::directory_iterator(home.path() + "/run/default/helpers", none))
        if (file.path().extension() == ".lock")
            out.push_back(file.path().stem().string());
    return out;
}

bool cgroups_can_be_made(std::string& why) {
    static const std::string answer = [] {
        const HoldfastHome home;
        const auto tried = home.run({"run", "--contain", "cgroup", "--", "/bin/true"});
        return !tried ? tried.error().message : tried->status.exited_with(0) ? std::string() : tried->err;
    }();
    why = answer;
    return answer.empty();
}

std::string cgroup_directory_of(pid_t pid) {
    const auto text = read_file("/proc/" + std::to_string(pid) + "/cgroup");
    const std::size_t at = text && text->starts_with("0::") ? 0
                           : text                           ? text->find("\n0::")
                                                            : std::string::npos;
    if (!text || at == std::string::npos)
        return {};
    const std::size_t from = text->find("::", at) + 2;
    const std::string place = text->substr(from, text->find('\n', from) - from);
    for (const char* mount : {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"})
        if (std::filesystem::exists(mount + place + "/cgroup.procs"))
            return mount + place;
    return {};
}

} // namespace holdfast::harness
