// SPDX-License-Identifier: Apache-2.0
// dma_pool: the module's operations pool_alloc and pool_free, all blocks that a
// number of pages holds. They alternate; op:<which> tells the half that is timed.
#include <pagemix.h>

#include <bit>

#include "base/text.hpp"
#include "families/family.hpp"
#include "families/module_run.hpp"
#include "result/statistics.hpp"

namespace pagemix::bench {
namespace {

// Blocks of a pool.
struct PoolBlock {
  std::uint32_t bytes = 0;
  std::uint32_t align = 0;  // a power of two
};

PoolBlock block_of(const Value& value, const std::string& word) {
  const std::string allowed = std::to_string(PAGEMIX_MIN_BLOCK) + ".." +
                              std::to_string(PAGEMIX_MAX_BLOCK) +
                              ", as in 16, 1K or 68@32; an alignment is a power of two";
  const std::size_t at = word.find('@');
  const auto bytes = parse_size(word.substr(0, at));
  const auto align = at == std::string::npos ? bytes : parse_size(word.substr(at + 1));
  if (!bytes || !align) value.reject("unreadable block \"" + word + "\"", allowed);
  if (*bytes < PAGEMIX_MIN_BLOCK || *bytes > PAGEMIX_MAX_BLOCK)
    value.reject("block \"" + word + "\" out of range", allowed);
  if (!std::has_single_bit(*align) || *align > PAGEMIX_MAX_BLOCK)
    value.reject("alignment of block \"" + word + "\" is no power of two", allowed);
  return {static_cast<std::uint32_t>(*bytes), static_cast<std::uint32_t>(*align)};
}

std::vector<PoolBlock> blocks_of(const Value& value) {
  std::vector<PoolBlock> found;
  for (const std::string& word : any_words(value, "blocks such as 16, 1K or 68@32"))
    found.push_back(block_of(value, word));
  return found;
}

std::vector<std::uint32_t> pages_of(const Value& value) {
  return numbers(value, 1, PAGEMIX_MAX_POOL_PAGES);
}

std::vector<std::string> frees_of(const Value& value) {
  return words(value, std::vector<std::string>{"in_order", "reversed", "random"});
}

std::uint64_t free_order(const std::string& name) {
  if (name == "reversed") return PAGEMIX_FREE_REVERSED;
  return name == "random" ? PAGEMIX_FREE_RANDOM : PAGEMIX_FREE_IN_ORDER;
}

class DmaPool final : public Family {
 public:
  explicit DmaPool(const Services& services) : services_(services) {}

  std::optional<std::string> prepare() override {
    return missing_operation(services_.device->module(), {"pool_alloc", "pool_free"});
  }

  Measurement measure(const Case& item, std::uint32_t block) override {
    const std::string operation = "pool_" + item.part("op");
    TargetClient::Run run{.operation = operation.c_str(),
                          .flags = item.cold() ? PAGEMIX_RUN_COLD : 0};
    run.params[PAGEMIX_POOL_BLOCK] = item.number("block");
    run.params[PAGEMIX_POOL_ALIGN] = item.number("align");
    run.params[PAGEMIX_POOL_PAGES] = item.number("pages");
    run.params[PAGEMIX_POOL_ORDER] = free_order(item.part("free"));
    if (item.part("free") == "random") run.params[PAGEMIX_POOL_SEED] = services_.profile.seed;
    const ModuleRun done = run_module(services_, run, item.name(), block);
    Measurement result;
    result.samples = done.samples;
    result.counters["blocks"] = static_cast<double>(done.nr_mapped);
    result.counters["block_cost"] =
        summarize(done.samples).median / static_cast<double>(done.nr_mapped);
    return result;
  }

 private:
  Services services_;
};

constexpr Key<blocks_of> kBlocks{
    "pool_blocks", "16 64 256 1K 4K",
    "dma_pool: bytes of a block, 16..4K; BYTES@ALIGN where they are no power of two"};
constexpr Key<pages_of> kPages{"pool_pages", "1 10 100 1000 10000",
                               "dma_pool: pages whose blocks are allocated"};
constexpr Key<frees_of> kFrees{"pool_frees", "in_order reversed random",
                               "dma_pool: orders of freeing"};

std::vector<Parts> blocks(const Profile& profile, const Case&) {
  std::vector<Parts> found;
  for (const PoolBlock& block : kBlocks.of(profile))
    found.push_back(
        {{"block", std::to_string(block.bytes)}, {"align", std::to_string(block.align)}});
  return found;
}

// How old a pool is makes no difference to freeing.
std::vector<Parts> states(const Profile& profile, const Case& item) {
  std::vector<Parts> found = axis::state(profile, item);
  if (item.part("op") == "free")
    std::erase_if(found, [](const Parts& parts) { return parts.front().value == "cold"; });
  return found;
}

const RegisterFamilies kRegistered({
    {.name = "dma_pool",
     .help = "dma_pool_alloc() and _free() of all blocks of a pool (in the module)",
     .group = Group::kModule,
     .axes = {blocks, axis::values("pages", kPages), axis::values("free", kFrees),
              axis::words("op", {"alloc", "free"}), states, axis::domain},
     .parts = {"block", "align", "pages", "free", "op", "domain", "state"},
     .keys = {&kBlocks, &kPages, &kFrees},
     .make = make_family<DmaPool>},
});

}  // namespace

}  // namespace pagemix::bench
