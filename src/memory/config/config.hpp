// What a home's config.json says. Every member is optional; without the file all is as here.
#pragma once

#include "holdfast/result.hpp"

#include <cstdint>
#include <string>

namespace holdfast::memory {

struct HomeConfig {
    bool redact = true; // "redact": what looks like a key or a token is replaced before it is stored

    // "summaries": {"enabled": true, "timeoutMs": 20000}: the host's model is asked for a summary of each
    // episode that is closed.
    bool summaries = false;
    std::int64_t summary_timeout_ms = 20'000;

    // "embeddings": {"endpoint": "http://127.0.0.1:8080/v1/embeddings", "model": "…", "keyVariable": "NAME",
    // "timeoutMs": 300, "weight": 0.5}: an OpenAI-compatible server as one more channel of recall.
    // Or {"host": true, "model": "…", …}: the host itself, by the reverse call host.embed.
    bool embeddings_host = false;
    std::string embeddings_endpoint; // empty, and no host: off
    std::string embeddings_model;
    std::string embeddings_key; // taken from the environment variable that keyVariable names
    std::int64_t embeddings_timeout_ms = 300;
    double embeddings_weight = 0.5;
};

// A missing file is the defaults. invalid_argument: what is wrong with it, by name.
Result<HomeConfig> read_config(const std::string& path);

} // namespace holdfast::memory
