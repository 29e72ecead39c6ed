// The dialect of the contract: what its errors look like. Internal to the contract.
#pragma once

#include "rpc/dialect.hpp"

#include <string>

namespace holdfast::memory {

// {code, message, data:{name, code, message, details?}}. A notification that is no request is told so, too.
std::string contract_fault(const rpc::Complaint& complaint);
inline constexpr rpc::Dialect contract_dialect{contract_fault};

} // namespace holdfast::memory
