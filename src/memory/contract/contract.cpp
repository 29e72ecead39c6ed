#include "memory/contract/contract.hpp"

#include "memory/contract/contract_call.hpp"
#include "memory/contract/contract_error.hpp"
#include "memory/contract/contract_transfer.hpp"

#include <array>

namespace holdfast::memory {

namespace {

constexpr std::size_t long_line = std::size_t{32} << 10; // a millisecond or more

struct ContractMethod : rpc::Method {
    void (*run)(const CallPointer& call);
};

constexpr rpc::MethodTable methods(std::to_array<ContractMethod>({
    {{"core.check"}, core_check},
    {{"core.health"}, core_health},
    {{"core.init"}, core_init},
    {{"core.shutdown"}, core_shutdown},
    {{"episode.close"}, episode_close},
    {{"episode.open"}, episode_open},
    {{"events.subscribe"}, events_subscribe},
    {{"events.unsubscribe"}, events_unsubscribe},
    {{"feedback.submit"}, feedback_submit},
    {{"logs.tail"}, logs_tail},
    {{"memory.add"}, memory_add},
    {{"memory.episodes"}, memory_episodes},
    {{"memory.feedback"}, memory_feedback},
    {{"memory.forget"}, memory_forget},
    {{"memory.get_policy"}, memory_get_policy},
    {{"memory.get_trace"}, memory_get_trace},
    {{"memory.get_world"}, memory_get_world},
    {{"memory.list_episodes"}, memory_list_episodes},
    {{"memory.list_policies"}, memory_list_policies},
    {{"memory.list_traces"}, memory_list_traces},
    {{"memory.list_world_models"}, memory_list_world_models},
    {{"memory.search"}, memory_search},
    {{"memory.sessions"}, memory_sessions},
    {{"memory.timeline"}, memory_turns},
    {{"policy.add"}, [](const CallPointer& call) { object_add(call, ObjectKind::policy); }},
    {{"policy.archive"}, [](const CallPointer& call) { object_archive(call, ObjectKind::policy); }},
    {{"retrieval.query"}, memory_search},
    {{"session.close"}, session_close},
    {{"session.open"}, session_open},
    {{"skill.add"}, [](const CallPointer& call) { object_add(call, ObjectKind::skill); }},
    {{"skill.archive"}, [](const CallPointer& call) { object_archive(call, ObjectKind::skill); }},
    {{"skill.get"}, skill_get},
    {{"skill.list"}, skill_list},
    {{"subagent.record"}, subagent_record},
    {{"transfer.export"}, transfer_export},
    {{"transfer.import"}, transfer_import},
    {{"turn.end"}, turn_end},
    {{"turn.start"}, turn_start},
    {{"viewer.link"}, viewer_link},
    {{"viewer.link_state"}, viewer_link_state},
    {{"world.add"}, [](const CallPointer& call) { object_add(call, ObjectKind::world_model); }},
    {{"world.archive"}, [](const CallPointer& call) { object_archive(call, ObjectKind::world_model); }},
}));

} // namespace

Contract::Contract(Service& service, HostCalls& calls, HostEmbeddings& embeddings)
    : service_(service)
    , host_calls_(calls)
    , host_embeddings_(embeddings)
    , host_model_(calls, service.config().summaries, service.config().summary_timeout_ms)
    , dispatcher_(*this, contract_dialect) {}

void Contract::serve_pages(std::shared_ptr<PageLinks> links) {
    const std::lock_guard lock(pages_mutex_);
    page_links_ = std::move(links);
}

std::shared_ptr<PageLinks> Contract::page_links() {
    const std::lock_guard lock(pages_mutex_);
    return page_links_;
}

void Contract::handle(const std::shared_ptr<Peer>& peer, std::string_view line) {
    dispatcher_.handle(peer, line);
}

void Contract::refuse_oversize(const std::shared_ptr<Peer>& peer, std::size_t limit) {
    dispatcher_.refuse_oversize(peer, limit);
}

std::string Contract::lost(std::string_view raw_id) const {
    return dispatcher_.lost(raw_id);
}

void Contract::call(std::shared_ptr<Peer> peer, std::string_view method, json::object params,
                    rpc::LocalRequest::Done done) {
    dispatcher_.call(std::move(peer), method, std::move(params), std::move(done));
}

const rpc::Method* Contract::find(const std::shared_ptr<rpc::Connection>& connection, std::string_view name) {
    const auto peer = std::static_pointer_cast<Peer>(connection);
    if (service_.config().embeddings_host && peer->takes_requests())
        host_embeddings_.met(peer);
    return methods.find(name);
}

void Contract::serve(const rpc::Method& method, rpc::Request request) {
    const auto run = static_cast<const ContractMethod&>(method).run;
    auto peer = std::static_pointer_cast<Peer>(std::move(request.connection));
    auto call = std::make_shared<Call>(*this, peer, std::move(request.responder), std::move(request.params));
    // To look for secrets in a long text takes a while, and other clients wait for this thread.
    if (request.line_bytes < long_line || !peer->hold_lines())
        return run(call);
    service_.run_now([run, call = std::move(call), peer = std::move(peer)]() mutable {
        run(call);
        call.reset();
        peer->go_on();
    });
}

// Or to a request that nobody waits for any more.
void Contract::take_answer(const std::shared_ptr<rpc::Connection>& connection, json::object message) {
    (void)host_calls_.take(connection.get(), message);
}

} // namespace holdfast::memory
