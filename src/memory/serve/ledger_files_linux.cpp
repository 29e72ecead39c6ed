// The shared memory of a client: files without a name.
#include "memory/serve/ledger_shared.hpp"

#include "sys/errors.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace holdfast::memory {

namespace {
constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
}

Result<LedgerFiles> LedgerFiles::make() {
    LedgerFiles files;
    files.state = sys::Fd(::memfd_create("memory-client", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    files.outbox = sys::Fd(::memfd_create("memory-answers", MFD_CLOEXEC));
    // Sparse: what is never touched is never there. Sealed, so that nobody can cut it off under a mapping.
    if (!files.state || !files.outbox || ::ftruncate(files.state.get(), ledger_bytes) != 0 ||
        ::fcntl(files.state.get(), F_ADD_SEALS, seals) != 0)
        return sys::fail_sys("make the shared memory of a client");
    return files;
}

Result<LedgerFiles> LedgerFiles::duplicate() const {
    LedgerFiles copy;
    copy.state = sys::Fd(::fcntl(state.get(), F_DUPFD_CLOEXEC, 3));
    copy.outbox = sys::Fd(::fcntl(outbox.get(), F_DUPFD_CLOEXEC, 3));
    if (!copy.state || !copy.outbox)
        return sys::fail_sys("duplicate the shared memory of a client");
    return copy;
}

bool LedgerFiles::sealed() const {
    return ::fcntl(state.get(), F_GET_SEALS) == seals;
}

} // namespace holdfast::memory
