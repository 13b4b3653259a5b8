/* SPDX-License-Identifier: GPL-2.0-only */
/* Every difference between the supported kernels, 6.1 and later. */
#ifndef PAGEMIX_COMPAT_H
#define PAGEMIX_COMPAT_H

#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/iommu.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/module.h>
#include <linux/version.h>

/* 6.8 renamed MAX_ORDER; 6.4 had made it inclusive. */
#ifndef MAX_PAGE_ORDER
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
#define MAX_PAGE_ORDER (MAX_ORDER - 1)
#else
#define MAX_PAGE_ORDER MAX_ORDER
#endif
#endif

/* 6.2 split dma_buf_map_attachment() by who holds the reservation lock. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define dma_buf_map_attachment_unlocked dma_buf_map_attachment
#define dma_buf_unmap_attachment_unlocked dma_buf_unmap_attachment
#endif

/* 6.3 put vm_flags behind accessors. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}
#endif

/* 6.3 made callers say how page tables are allocated. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
#define pagemix_iommu_map iommu_map
#define pagemix_iommu_map_sg iommu_map_sg
#else
#define pagemix_iommu_map(domain, iova, phys, bytes, prot) \
	iommu_map(domain, iova, phys, bytes, prot, GFP_KERNEL)
#define pagemix_iommu_map_sg(domain, iova, sgl, nents, prot) \
	iommu_map_sg(domain, iova, sgl, nents, prot, GFP_KERNEL)
#endif

/* 6.11 allocates domains for a device instead of a bus. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
static inline struct iommu_domain *pagemix_paging_domain_alloc(struct device *dev)
{
	struct iommu_domain *domain = iommu_domain_alloc(dev->bus);

	return domain ? domain : ERR_PTR(-ENODEV);
}
#else
#define pagemix_paging_domain_alloc iommu_paging_domain_alloc
#endif

/*
 * One buffer may be mapped several times at once, by several importers and by cold
 * runs. Newer kernels let a mapping say so to DMA_API_DEBUG, which reports "cacheline
 * tracking EEXIST" without; nothing else looks at the attribute.
 */
#ifdef DMA_ATTR_DEBUGGING_IGNORE_CACHELINES
#define PAGEMIX_MAP_ATTRS DMA_ATTR_DEBUGGING_IGNORE_CACHELINES
#else
#define PAGEMIX_MAP_ATTRS 0
#endif

/* 6.11 made platform_driver.remove return void; remove_new did before. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define pagemix_platform_remove remove_new
#else
#define pagemix_platform_remove remove
#endif

/* 6.13 turned the namespace into a string. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define PAGEMIX_IMPORT_DMA_BUF MODULE_IMPORT_NS(DMA_BUF)
#else
#define PAGEMIX_IMPORT_DMA_BUF MODULE_IMPORT_NS("DMA_BUF")
#endif

/* 6.16 maps physical ranges into an IOVA range that the caller holds. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0) && IS_ENABLED(CONFIG_IOMMU_DMA)
#define PAGEMIX_HAS_IOVA_LINK
#endif

#endif /* PAGEMIX_COMPAT_H */
