#include "memory/embed/vector_file.hpp"

#include "base/text.hpp"
#include "memory/ids/ids.hpp"
#include "sys/errors.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace holdfast::memory {

namespace {

constexpr std::size_t head_bytes = 256;
constexpr std::size_t most_dimensions = 8192;
struct Head {
    char magic[8];
    std::uint32_t dimension;
    char model[200];
};
static_assert(sizeof(Head) <= head_bytes);
constexpr char magic[8] = {'h', 'f', 'v', 'e', 'c', 't', 'r', '1'};

} // namespace

// What is mapped stays mapped for the searches that use it, while the file grows.
struct VectorFile::Mapping {
    Mapping(void* start, std::size_t size)
        : bytes(static_cast<const char*>(start))
        , length(size) {}
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping() { ::munmap(const_cast<char*>(bytes), length); }
    const char* bytes;
    std::size_t length;
};

VectorFile::VectorFile(VectorFile&& other) noexcept
    : file_(std::move(other.file_))
    , path_(std::move(other.path_))
    , dimension_(other.dimension_)
    , records_(other.records_)
    , last_row_(other.last_row_)
    , forgotten_(std::move(other.forgotten_))
    , mapped_(std::move(other.mapped_)) {}

Result<VectorFile> VectorFile::open(const std::string& path, const std::string& model) {
    sys::Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!fd)
        return sys::fail_sys(base::cat("open ", path));
    VectorFile file(std::move(fd), path);
    Head head{};
    char named[sizeof head.model] = {};
    std::memcpy(named, model.data(), std::min(model.size(), sizeof named - 1));
    struct stat info{};
    if (::fstat(file.file_.get(), &info) != 0)
        return sys::fail_sys(base::cat("look at ", path));
    const bool known =
        ::pread(file.file_.get(), &head, sizeof head, 0) == static_cast<ssize_t>(sizeof head) &&
        std::memcmp(head.magic, magic, sizeof magic) == 0 && head.dimension > 0 &&
        head.dimension <= most_dimensions && std::memcmp(head.model, named, sizeof named) == 0;
    if (!known) {
        if (::ftruncate(file.file_.get(), 0) != 0)
            return sys::fail_sys(base::cat("empty ", path));
        head = {};
        std::memcpy(head.magic, magic, sizeof magic);
        std::memcpy(head.model, named, sizeof named);
        if (::pwrite(file.file_.get(), &head, sizeof head, 0) != static_cast<ssize_t>(sizeof head))
            return sys::fail_sys(base::cat("write ", path));
        return file;
    }
    file.dimension_ = head.dimension;
    if (static_cast<std::size_t>(info.st_size) > head_bytes)
        file.records_ = (static_cast<std::size_t>(info.st_size) - head_bytes) / file.record_bytes();
    if (file.records_ > 0)
        (void)!::pread(file.file_.get(), &file.last_row_, 8,
                       static_cast<off_t>(head_bytes + (file.records_ - 1) * file.record_bytes()));
    return file;
}

std::int64_t VectorFile::last_row() const {
    const std::lock_guard lock(mutex_);
    return last_row_;
}

std::size_t VectorFile::size() const {
    const std::lock_guard lock(mutex_);
    return records_;
}

std::uint32_t VectorFile::dimension() const {
    const std::lock_guard lock(mutex_);
    return dimension_;
}

Result<void> VectorFile::append(std::int64_t row, std::span<const float> vector) {
    const std::lock_guard lock(mutex_);
    if (vector.size() > most_dimensions || (dimension_ == 0 && vector.empty()) ||
        (dimension_ != 0 && !vector.empty() && vector.size() != dimension_))
        return fail(Errc::invalid_argument,
                    base::cat("a vector of ", vector.size(), " numbers among those of ", dimension_));
    double sum = 0;
    for (const float value : vector)
        sum += static_cast<double>(value) * static_cast<double>(value);
    if (!std::isfinite(sum))
        return fail(Errc::invalid_argument, "a vector with a number that is none");
    if (dimension_ == 0) {
        const auto dimension = static_cast<std::uint32_t>(vector.size());
        if (::pwrite(file_.get(), &dimension, 4, offsetof(Head, dimension)) != 4)
            return sys::fail_sys(base::cat("write ", path_));
        dimension_ = dimension;
    }
    const auto scale = static_cast<float>(sum > 0 ? 1 / std::sqrt(sum) : 0);
    std::vector<char> record(record_bytes());
    std::memcpy(record.data(), &row, 8);
    if (!forgotten_.contains(row))
        for (std::size_t i = 0; i < vector.size(); ++i) {
            const float value = vector[i] * scale;
            std::memcpy(record.data() + 8 + i * 4, &value, 4);
        }
    const auto at = static_cast<off_t>(head_bytes + records_ * record_bytes());
    if (::pwrite(file_.get(), record.data(), record.size(), at) != static_cast<ssize_t>(record.size()))
        return sys::fail_sys(base::cat("write ", path_));
    ++records_;
    last_row_ = row;
    forgotten_.erase(forgotten_.begin(), forgotten_.upper_bound(row));
    return {};
}

std::int64_t VectorFile::row_at(std::size_t record) const {
    std::int64_t row = 0;
    (void)!::pread(file_.get(), &row, 8, static_cast<off_t>(head_bytes + record * record_bytes()));
    return row;
}

void VectorFile::forget(std::int64_t row) {
    const std::lock_guard lock(mutex_);
    if (row > last_row_) {
        forgotten_.insert(row);
        return;
    }
    std::size_t from = 0;
    for (std::size_t until = records_; from < until;) {
        const auto middle = from + (until - from) / 2;
        if (row_at(middle) < row)
            from = middle + 1;
        else
            until = middle;
    }
    if (from >= records_ || row_at(from) != row)
        return;
    const std::vector<char> zeros(std::size_t{dimension_} * 4);
    (void)!::pwrite(file_.get(), zeros.data(), zeros.size(),
                    static_cast<off_t>(head_bytes + from * record_bytes() + 8));
}

Result<void> VectorFile::clear() {
    const std::lock_guard lock(mutex_);
    // Another file in its place: searches may still have this one mapped.
    Head head{};
    const auto fresh_path = path_ + ".tmp";
    sys::Fd fresh(::open(fresh_path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!fresh || ::pread(file_.get(), &head, sizeof head, 0) != static_cast<ssize_t>(sizeof head))
        return sys::fail_sys(base::cat("replace ", path_));
    head.dimension = 0;
    if (::pwrite(fresh.get(), &head, sizeof head, 0) != static_cast<ssize_t>(sizeof head) ||
        ::rename(fresh_path.c_str(), path_.c_str()) != 0)
        return sys::fail_sys(base::cat("replace ", path_));
    file_ = std::move(fresh);
    mapped_.reset();
    dimension_ = 0;
    records_ = 0;
    last_row_ = 0;
    return {};
}

std::shared_ptr<const VectorFile::Mapping> VectorFile::mapping() const {
    const std::size_t wanted = head_bytes + records_ * record_bytes();
    if (!mapped_ || mapped_->length < wanted) {
        void* fresh = ::mmap(nullptr, wanted, PROT_READ, MAP_SHARED, file_.get(), 0);
        mapped_ = fresh == MAP_FAILED ? nullptr : std::make_shared<const Mapping>(fresh, wanted);
    }
    return mapped_;
}

std::vector<VectorHit> VectorFile::search(std::span<const float> query, std::size_t most,
                                          std::int64_t deadline_us, const AdmitRow& admit, bool& cut) const {
    std::vector<VectorHit> best;
    std::shared_ptr<const Mapping> mapped;
    std::size_t records = 0;
    {
        const std::lock_guard lock(mutex_);
        if (records_ == 0 || query.size() != dimension_)
            return best;
        mapped = mapping();
        records = records_;
    }
    if (!mapped)
        return best;
    const std::size_t record_size = 8 + query.size() * 4;
    double sum = 0;
    for (const float value : query)
        sum += static_cast<double>(value) * static_cast<double>(value);
    const auto scale = static_cast<float>(sum > 0 ? 1 / std::sqrt(sum) : 0);
    const auto worse = [](const VectorHit& a, const VectorHit& b) { return a.likeness > b.likeness; };
    const std::size_t look_each = std::max<std::size_t>(1, (std::size_t{1} << 20) / record_size);
    // From the newest on: what a deadline cuts off is the oldest.
    for (std::size_t i = records; i-- > 0;) {
        if (i % look_each == 0 && deadline_us != 0 && monotonic_us() > deadline_us) {
            cut = true;
            break;
        }
        const char* record = mapped->bytes + head_bytes + i * record_size;
        // Eight sums side by side: the order of one sum would forbid the compiler to do them at once.
        float sums[8] = {};
        for (std::size_t k = 0; k < query.size(); ++k) {
            float value = 0;
            std::memcpy(&value, record + 8 + k * 4, 4);
            sums[k % 8] += value * query[k];
        }
        const float likeness =
            (sums[0] + sums[1] + sums[2] + sums[3] + sums[4] + sums[5] + sums[6] + sums[7]) * scale;
        if (!(likeness > 0) || (best.size() == most && likeness <= best.front().likeness))
            continue; // unlike, or wiped
        VectorHit hit;
        std::memcpy(&hit.row, record, 8);
        hit.likeness = likeness;
        if (admit && !admit(hit.row))
            continue;
        if (best.size() == most) {
            std::ranges::pop_heap(best, worse);
            best.back() = hit;
        } else {
            best.push_back(hit);
        }
        std::ranges::push_heap(best, worse);
    }
    std::ranges::sort(best, worse);
    return best;
}

} // namespace holdfast::memory
