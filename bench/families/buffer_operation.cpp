// SPDX-License-Identifier: Apache-2.0
// The module's operations on one buffer, each a family of the same name. The
// kernel times it, and leaves what undoes it untimed; the samples come from its ring.
#include "families/direction.hpp"
#include "families/family.hpp"
#include "families/module_run.hpp"
#include "families/thread_run.hpp"

namespace pagemix::bench {
namespace {

/// Works on a domain of the module's own.
bool own_domain(std::string_view family) { return family.starts_with("iommu_"); }

class BufferOperation final : public Family {
 public:
  BufferOperation(std::string name, const Services& services)
      : services_(services), name_(std::move(name)) {}

  std::optional<std::string> prepare() override {
    if (const auto missing = missing_operation(services_.device->module(), {name_.c_str()}))
      return *missing + (links_iova() ? ", which needs Linux 6.16" : "");
    if (links_iova() && !translated())
      return "no IOMMU translates for " + services_.device->name() + ": there are no IOVAs";
    // iommu_attach_device() takes a group of one device only.
    const vfio::pci::DeviceInfo& device = services_.device->device();
    if (own_domain(name_) && !device.iommu_group) return device.bdf.text() + " is behind no IOMMU";
    if (own_domain(name_) && device.group_members.size() > 1)
      return "the IOMMU group of " + device.bdf.text() + " has " +
             std::to_string(device.group_members.size()) +
             " devices; a domain of its own takes a group of one";
    return std::nullopt;
  }

  std::optional<Skipped> unmeasurable(const Case& item) const override {
    if (links_iova() && item.domain() == "identity")
      return Skipped{name_ + " in domain:identity", "no IOMMU translates: there are no IOVAs"};
    const std::size_t cpus = usable_cpus().size();
    if (item.threads() <= cpus) return std::nullopt;
    return Skipped{"threads:" + item.part("threads"),
                   std::to_string(cpus) + " CPUs may be used here, one for each thread"};
  }

  Measurement measure(const Case& item, std::uint32_t block) override {
    const TargetClient::Run request{.operation = item.family.c_str(),
                                    .direction = direction_value(services_.profile.direction),
                                    .flags = item.cold() ? PAGEMIX_RUN_COLD : 0};
    Measurement result;
    const PooledBuffer& pooled = services_.pool->get(item);
    ModuleRun run;
    if (item.threads() > 1) {
      std::vector<int> fds;
      for (std::uint32_t i = 0; i < item.threads(); ++i)
        fds.push_back(services_.pool->get(item, i).buffer.fd());
      run = run_threads(services_, request, fds, item.name(), block, result.counters);
    } else {
      TargetClient::Run one = request;
      one.buffer_fd = pooled.buffer.fd();
      run = run_module(services_, one, item.name(), block);
    }
    result.samples = run.samples;
    add_buffer_counters(result, pooled.info);
    // One range of IOVAs holds the whole buffer, except where each chunk has its own.
    if (!name_.ends_with("_page") && name_ != "map_single")
      predict(result, pooled, run.iova, services_.device->module().info());
    return result;
  }

 private:
  /// Works on IOVA ranges that the module holds.
  bool links_iova() const { return name_.starts_with("iova_"); }

  bool translated() const {
    const std::uint32_t domain = services_.device->module().info().domain;
    return domain == PAGEMIX_DOMAIN_STRICT || domain == PAGEMIX_DOMAIN_LAZY;
  }

  // DMA addresses are physical ones: the IOMMU is told nothing.
  void predict_nothing(Measurement& result, std::uint64_t iova) const {
    add_leaf_counters(result, {}, {}, iova);
    if (smmu_rules(services_)) add_smmu_counters(result, {});
    if (behind_vtd(services_)) result.counters["vtd_inv_predicted"] = 0;
  }

  void predict(Measurement& result, const PooledBuffer& pooled, std::uint64_t iova,
               const pagemix_target_info& info) const {
    const std::uint64_t sizes = info.pgsize_bitmap;
    if (!own_domain(name_) && info.domain == PAGEMIX_DOMAIN_IDENTITY) {
      predict_nothing(result, iova);
      return;
    }
    if (!(own_domain(name_) || translated()) || sizes == 0) {
      result.counters["iova"] = static_cast<double>(iova);
      return;  // nothing is mapped by an IOMMU, or its page sizes are not known: no leaves
    }
    const auto map_calls = plan_map(pooled.runs, iova, sizes);
    const auto unmap_calls = plan_unmap(map_calls, sizes, unmap_rules(services_, sizes));
    add_leaf_counters(result, map_calls, unmap_calls, iova);
    // A domain that comes and goes with the run has commands of its own.
    if (own_domain(name_)) return;
    // dma_iova_unlink() invalidates before it returns, in a lazy domain as well.
    const bool lazy = info.domain == PAGEMIX_DOMAIN_LAZY && !links_iova();
    if (auto rules = smmu_rules(services_)) {
      rules->lazy = rules->lazy && !links_iova();
      add_smmu_counters(result, predict_smmuv3(map_calls, unmap_calls, sizes, *rules));
    }
    if (behind_vtd(services_))
      result.counters["vtd_inv_predicted"] =
          lazy ? 0 : static_cast<double>(predict_vtd(map_calls, unmap_calls).tlbi);
  }

  Services services_;
  std::string name_;
};

// An attach_map is a whole cycle: nothing of it stays for the next one to find. A device
// has one domain at a time: a domain of its own (iommu_*) is one run's alone, and in no mode.
FamilyDescriptor described(const char* name, const char* help) {
  FamilyDescriptor family{.name = name,
                          .help = help,
                          .group = Group::kModule,
                          .axes = {axis::bytes, axis::mix, axis::layout},
                          .parts = {"mix", "layout", "bytes", "state", "threads", "domain"},
                          .make = make_family<BufferOperation>};
  if (!own_domain(name)) {
    family.axes.emplace_back(axis::threads);
    family.axes.emplace_back(axis::domain);
  }
  if (std::string_view(name) != "attach_map") family.axes.emplace_back(axis::state);
  return family;
}

const RegisterFamilies kRegistered({
    described("map_sgtable", "dma_map_sgtable() of one attachment (in the module)"),
    described("unmap_sgtable", "dma_unmap_sgtable() of it (in the module)"),
    described("attach_map",
              "dma-buf attach, map, unmap, detach: an importer's cycle (in the module)"),
    described("map_page", "dma_map_page() of every chunk (in the module)"),
    described("map_single", "dma_map_single() of every chunk (in the module)"),
    described("unmap_page", "dma_unmap_page() of every chunk (in the module)"),
    described("iommu_map", "iommu_map() of every run: page tables without IOVAs (in the module)"),
    described("iommu_map_sg", "iommu_map_sg() of the buffer (in the module)"),
    described("iommu_unmap", "iommu_unmap() of the buffer (in the module)"),
    described("iova_link", "dma_iova_link() of every run, Linux 6.16 and later (in the module)"),
    described("iova_unlink", "dma_iova_unlink() of the buffer (in the module)"),
});

}  // namespace

}  // namespace pagemix::bench
