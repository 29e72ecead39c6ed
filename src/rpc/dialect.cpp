#include "rpc/dialect.hpp"

#include "base/text.hpp"
#include "rpc/message_ids.hpp"

namespace holdfast::rpc {

std::string plain_error(const Complaint& complaint) {
    return complaint.notification ? std::string() : write_error_object(complaint.code, complaint.message);
}

std::string lost_line(const Dialect& dialect, std::string_view raw_id) {
    const auto error = dialect.error(
        {Fault::lost, server_error, "the process that served this request ended before it answered"});
    if (!raw_id.starts_with('['))
        return write_failure(raw_id, error);
    std::string all;
    for (const auto one : elements_of(raw_id))
        all += base::cat(all.empty() ? '[' : ',', write_failure(one, error));
    return all + ']';
}

} // namespace holdfast::rpc
