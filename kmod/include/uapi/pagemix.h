/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * pagemix: user-space interface of pagemix.ko
 *
 * /dev/dma_heap/pagemix     the heap: DMA_HEAP_IOCTL_ALLOC (<linux/dma-heap.h>)
 *                           and the PAGEMIX_IOC_HEAP_*, _ALLOC, _BUF_* calls
 * /dev/pagemix/<device>     one node per bound device: PAGEMIX_IOC_TARGET_*
 *
 * Every structure starts with @version, which must be PAGEMIX_UAPI_VERSION
 * (else EINVAL). Unknown flag bits and non-zero padding give EINVAL; an ioctl
 * number with another structure size gives ENOTTY. Nodes are root only (0600).
 */
#ifndef _UAPI_PAGEMIX_H
#define _UAPI_PAGEMIX_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define PAGEMIX_UAPI_VERSION	1
#define PAGEMIX_MAX_STEPS	8	/* steps of one mix */
#define PAGEMIX_ORDERS		16	/* slots of a per-order array: orders 0..15 */
#define PAGEMIX_NAME_LEN	32	/* operation names, with the final NUL */
#define PAGEMIX_MAX_SAMPLES	(1U << 20)	/* samples of one ring */
#define PAGEMIX_RUN_PARAMS	6	/* parameters of an operation */
#define PAGEMIX_MAX_COHERENT	(32UL << 20)	/* bytes of a coherent allocation */
#define PAGEMIX_MIN_BLOCK	16	/* bytes of a DMA pool's block */
#define PAGEMIX_MAX_BLOCK	4096
#define PAGEMIX_MAX_POOL_PAGES	10000

/**
 * enum pagemix_gfp - how hard one step of a mix tries
 * @PAGEMIX_GFP_LOW:  may enter reclaim and compaction (LOW_ORDER_GFP)
 * @PAGEMIX_GFP_MID:  as LOW, without the failure warning (MID_ORDER_GFP)
 * @PAGEMIX_GFP_HIGH: no reclaim, no retry, no warning (HIGH_ORDER_GFP)
 *
 * The names in brackets are those of drivers/dma-buf/heaps/system_heap.c.
 */
enum pagemix_gfp {
	PAGEMIX_GFP_LOW		= 0,
	PAGEMIX_GFP_MID		= 1,
	PAGEMIX_GFP_HIGH	= 2,
};

/**
 * enum pagemix_layout - order of the chunks inside the buffer
 * @PAGEMIX_LAYOUT_BUDDY:     as the buddy allocator returned them
 * @PAGEMIX_LAYOUT_SCATTERED: a shuffle decided by the seed
 */
enum pagemix_layout {
	PAGEMIX_LAYOUT_BUDDY		= 0,
	PAGEMIX_LAYOUT_SCATTERED	= 1,
};

/**
 * enum pagemix_domain - IOMMU domain that serves a device's DMA API calls
 * @PAGEMIX_DOMAIN_NONE:     no IOMMU translates for the device
 * @PAGEMIX_DOMAIN_IDENTITY: translated one to one (iommu.passthrough=1)
 * @PAGEMIX_DOMAIN_STRICT:   unmap invalidates before it returns ("DMA")
 * @PAGEMIX_DOMAIN_LAZY:     invalidation is batched ("DMA-FQ")
 * @PAGEMIX_DOMAIN_OTHER:    any other type
 */
enum pagemix_domain {
	PAGEMIX_DOMAIN_NONE	= 0,
	PAGEMIX_DOMAIN_IDENTITY	= 1,
	PAGEMIX_DOMAIN_STRICT	= 2,
	PAGEMIX_DOMAIN_LAZY	= 3,
	PAGEMIX_DOMAIN_OTHER	= 4,
};

/**
 * struct pagemix_step - one step of a mix
 * @order: log2 of the pages of a chunk, 0..max_order of PAGEMIX_IOC_HEAP_INFO
 * @gfp:   enum pagemix_gfp
 */
struct pagemix_step {
	__u32 order;
	__u32 gfp;
};

/**
 * struct pagemix_heap_info - PAGEMIX_IOC_HEAP_INFO
 * @version:        in: PAGEMIX_UAPI_VERSION
 * @max_order:      out: largest order the kernel's page allocator serves
 * @page_size:      out: bytes of an order-0 page
 * @default_nsteps: out: steps used by DMA_HEAP_IOCTL_ALLOC
 * @default_steps:  out: the default mix
 * @module_version: out: NUL-terminated
 */
struct pagemix_heap_info {
	__u32 version;
	__u32 max_order;
	__u32 page_size;
	__u32 default_nsteps;
	struct pagemix_step default_steps[PAGEMIX_MAX_STEPS];
	char module_version[PAGEMIX_NAME_LEN];
};

/**
 * struct pagemix_alloc - PAGEMIX_IOC_ALLOC
 * @version:  in: PAGEMIX_UAPI_VERSION
 * @flags:    in: 0
 * @bytes:    in: size; rounded up to whole pages, at most half of the memory
 * @seed:     in: of the shuffle; only read for PAGEMIX_LAYOUT_SCATTERED
 * @layout:   in: enum pagemix_layout
 * @nsteps:   in: used entries of @steps, 1..PAGEMIX_MAX_STEPS
 * @steps:    in: the mix, orders never increasing; unused entries are zero
 * @fd_flags: in: O_CLOEXEC and an access mode (O_RDONLY, O_WRONLY, O_RDWR)
 * @fd:       out: the dma-buf
 *
 * The largest order that fits the rest is tried first; after a failure no
 * larger order is tried again for this buffer. @bytes must be a multiple of the
 * smallest chunk of the mix (else EINVAL: it could never be filled). ENOMEM when
 * no step succeeds (then nothing stays allocated), EINTR on a fatal signal.
 */
struct pagemix_alloc {
	__u32 version;
	__u32 flags;
	__u64 bytes;
	__u64 seed;
	__u32 layout;
	__u32 nsteps;
	struct pagemix_step steps[PAGEMIX_MAX_STEPS];
	__u32 fd_flags;
	__s32 fd;
};

/**
 * struct pagemix_buf_info - PAGEMIX_IOC_BUF_INFO
 * @version:      in: PAGEMIX_UAPI_VERSION
 * @fd:           in: a dma-buf of this heap (another exporter's gives EINVAL)
 * @bytes:        out: size of the buffer
 * @seed:         out: as given
 * @layout:       out: enum pagemix_layout
 * @pad:          in: 0
 * @nr_chunks:    out: chunks in total
 * @nr_runs:      out: physically contiguous stretches in buffer order
 * @largest_run:  out: bytes of the largest one
 * @alloc_ns:     out: ktime nanoseconds of the whole allocation loop
 * @chunks:       out: chunks obtained, by order
 * @order_ns:     out: ktime nanoseconds of the loop by order tried, failed
 *                attempts included (read only when the order changes, so that
 *                the clock does not slow the loop)
 * @order_fails:  out: failed attempts, by order tried
 */
struct pagemix_buf_info {
	__u32 version;
	__s32 fd;
	__u64 bytes;
	__u64 seed;
	__u32 layout;
	__u32 pad;
	__u64 nr_chunks;
	__u64 nr_runs;
	__u64 largest_run;
	__u64 alloc_ns;
	__u64 chunks[PAGEMIX_ORDERS];
	__u64 order_ns[PAGEMIX_ORDERS];
	__u64 order_fails[PAGEMIX_ORDERS];
};

/**
 * struct pagemix_run - one physically contiguous stretch of a buffer
 * @phys:  physical address of its first byte
 * @bytes: its length
 */
struct pagemix_run {
	__u64 phys;
	__u64 bytes;
};

/**
 * struct pagemix_buf_runs - PAGEMIX_IOC_BUF_RUNS
 * @version:  in: PAGEMIX_UAPI_VERSION
 * @fd:       in: a dma-buf of this heap
 * @runs:     in: user pointer to an array of struct pagemix_run
 * @capacity: in: its entries; out: runs of the buffer
 * @flags:    in: 0
 *
 * Needs CAP_SYS_ADMIN, as physical addresses in /proc/self/pagemap do (else
 * EPERM). ENOSPC, with @capacity set, when the array is too small.
 */
struct pagemix_buf_runs {
	__u32 version;
	__s32 fd;
	__u64 runs;
	__u32 capacity;
	__u32 flags;
};

/**
 * struct pagemix_buf_attachments - PAGEMIX_IOC_BUF_ATTACHMENTS: who imports it
 * @version:    in: PAGEMIX_UAPI_VERSION
 * @fd:         in: a dma-buf of this heap
 * @attached:   out: devices attached now
 * @mapped:     out: of these, with the buffer mapped for DMA
 * @translated: out: of the mapped ones, behind an IOMMU that translates
 * @pad:        in: 0
 *
 * Importers map when they like: at import, at first use or never.
 */
struct pagemix_buf_attachments {
	__u32 version;
	__s32 fd;
	__u32 attached;
	__u32 mapped;
	__u32 translated;
	__u32 pad;
};

/**
 * struct pagemix_target_info - PAGEMIX_IOC_TARGET_INFO
 * @version:         in: PAGEMIX_UAPI_VERSION
 * @domain:          out: enum pagemix_domain
 * @pgsize_bitmap:   out: page sizes of the device's domain; 0 without IOMMU
 * @granule:         out: the domain's smallest page size; 0 without IOMMU
 * @dma_mask:        out: addresses the device can reach
 * @counter_hz:      out: frequency of the counter in struct pagemix_sample
 * @counter_step:    out: smallest non-zero difference of two reads, in ticks
 * @sample_overhead: out: ticks of a sample around nothing, median of 1001
 * @coherent:        out: 1 if the device's DMA is cache coherent
 * @nr_ops:          out: operations of PAGEMIX_IOC_TARGET_OP
 * @module_version:  out: NUL-terminated
 */
struct pagemix_target_info {
	__u32 version;
	__u32 domain;
	__u64 pgsize_bitmap;
	__u64 granule;
	__u64 dma_mask;
	__u64 counter_hz;
	__u64 counter_step;
	__u64 sample_overhead;
	__u32 coherent;
	__u32 nr_ops;
	char module_version[PAGEMIX_NAME_LEN];
};

/**
 * struct pagemix_target_op - PAGEMIX_IOC_TARGET_OP: names an operation
 * @version: in: PAGEMIX_UAPI_VERSION
 * @index:   in: 0..nr_ops-1 of PAGEMIX_IOC_TARGET_INFO (else EINVAL)
 * @name:    out: NUL-terminated
 */
struct pagemix_target_op {
	__u32 version;
	__u32 index;
	char name[PAGEMIX_NAME_LEN];
};

/**
 * struct pagemix_target_ring - PAGEMIX_IOC_TARGET_RING: makes the sample ring
 * @version:  in: PAGEMIX_UAPI_VERSION
 * @flags:    in: 0
 * @capacity: in: samples it holds, 1..PAGEMIX_MAX_SAMPLES
 * @bytes:    out: length to mmap at offset 0 (whole pages)
 *
 * One ring per open file, made once (EBUSY after that). The mapping is an
 * array of struct pagemix_sample; each run writes from its start.
 */
struct pagemix_target_ring {
	__u32 version;
	__u32 flags;
	__u64 capacity;
	__u64 bytes;
};

/**
 * struct pagemix_sample - one repetition, as raw counter values
 * @begin: counter before the operation
 * @end:   counter after it
 *
 * The counter is the one get_cycles() reads: CNTVCT_EL0 on arm64, the TSC on
 * x86. Durations are (end - begin) / counter_hz seconds.
 */
struct pagemix_sample {
	__u64 begin;
	__u64 end;
};

/*
 * Flags of a run.
 * PAGEMIX_RUN_COLD: nothing is left of the repetition before. Maps: every one has
 * an IOVA range of its own, because all maps come before all unmaps: cached IOVAs
 * are used up, and last-level page tables that the range fills are allocated
 * inside the time. Unmaps: what was mapped first is unmapped first. pool_alloc: a
 * new pool, whose pages are allocated inside the time. Excludes @warmup; EINVAL for operations that have no such state:
 * attach_map, sync_*, coherent_*, pool_free, nop.
 */
#define PAGEMIX_RUN_COLD	(1U << 0)
/*
 * PAGEMIX_RUN_HOLD: what the operation mapped stays, so that the device can use
 * it, until a signal (EINTR) or the unbind (ENODEV) ends the run; then it is
 * undone. Its sample is in the ring once it is mapped. Wants @repetitions 1 and no
 * @warmup, excludes PAGEMIX_RUN_COLD; EINVAL for operations that undo something, or
 * leave nothing to undo: unmap_*, *_free, *_end, iommu_unmap, iova_unlink,
 * attach_map, nop.
 */
#define PAGEMIX_RUN_HOLD	(1U << 1)

/*
 * @params of operations that have some; those not named are 0 (else EINVAL).
 *
 * coherent_alloc, coherent_free:
 *   bytes   whole pages, at most PAGEMIX_MAX_COHERENT and half of the memory
 *   attrs   PAGEMIX_COHERENT_*
 * pool_alloc, pool_free: all blocks that the pages of a DMA pool hold
 *   block   bytes, PAGEMIX_MIN_BLOCK..PAGEMIX_MAX_BLOCK
 *   align   of a block: a power of two up to PAGEMIX_MAX_BLOCK
 *   pages   1..PAGEMIX_MAX_POOL_PAGES, at most half of the memory
 *   order   enum pagemix_free_order
 *   seed    of PAGEMIX_FREE_RANDOM, else 0
 */
enum pagemix_coherent_param {
	PAGEMIX_COHERENT_BYTES	= 0,
	PAGEMIX_COHERENT_ATTRS	= 1,
	PAGEMIX_COHERENT_PARAMS	= 2,
};

#define PAGEMIX_COHERENT_SINGLE_PAGES		(1U << 0)	/* DMA_ATTR_ALLOC_SINGLE_PAGES */
#define PAGEMIX_COHERENT_NO_KERNEL_MAPPING	(1U << 1)	/* DMA_ATTR_NO_KERNEL_MAPPING */
#define PAGEMIX_COHERENT_ZERO			(1U << 2)	/* __GFP_ZERO */

enum pagemix_pool_param {
	PAGEMIX_POOL_BLOCK	= 0,
	PAGEMIX_POOL_ALIGN	= 1,
	PAGEMIX_POOL_PAGES	= 2,
	PAGEMIX_POOL_ORDER	= 3,
	PAGEMIX_POOL_SEED	= 4,
	PAGEMIX_POOL_PARAMS	= 5,
};

/**
 * enum pagemix_free_order - order in which the blocks of a pool are freed
 * @PAGEMIX_FREE_IN_ORDER: as they were allocated
 * @PAGEMIX_FREE_REVERSED: the last one first
 * @PAGEMIX_FREE_RANDOM:   a shuffle decided by the seed
 */
enum pagemix_free_order {
	PAGEMIX_FREE_IN_ORDER	= 0,
	PAGEMIX_FREE_REVERSED	= 1,
	PAGEMIX_FREE_RANDOM	= 2,
};

/**
 * struct pagemix_target_run - PAGEMIX_IOC_TARGET_RUN
 * @version:     in: PAGEMIX_UAPI_VERSION
 * @flags:       in: PAGEMIX_RUN_*
 * @op:          in: operation name, NUL-terminated, zero-filled
 * @fd:          in: a dma-buf of this heap (-1 for operations without buffer)
 * @direction:   in: 0 bidirectional, 1 to device, 2 from device
 *               (enum dma_data_direction)
 * @repetitions: in: samples to take, 1..capacity of the ring
 * @warmup:      in: untimed repetitions before, at most PAGEMIX_MAX_SAMPLES
 * @completed:   out: samples written; also set when the run ends early
 * @iova:        out: first DMA address of the last mapping
 * @nr_mapped:   out: DMA segments of the last mapping; blocks of a pool
 * @params:      in: of the operation, see above
 *
 * EINTR: a signal ended the run. ENODEV: the device was unbound. In both cases
 * the first @completed samples are valid and nothing stays mapped. EBUSY: another
 * open file runs on this device, and one of the two operations (iommu_*) attaches
 * it to a domain of its own. ENOMEM, of a cold run: its mappings, all of which
 * stay until the end, would take more than half of the memory.
 */
struct pagemix_target_run {
	__u32 version;
	__u32 flags;
	char op[PAGEMIX_NAME_LEN];
	__s32 fd;
	__u32 direction;
	__u32 repetitions;
	__u32 warmup;
	__u64 completed;
	__u64 iova;
	__u64 nr_mapped;
	__u64 params[PAGEMIX_RUN_PARAMS];
};

#define PAGEMIX_IOC_MAGIC	0xF5

#define PAGEMIX_IOC_HEAP_INFO	_IOWR(PAGEMIX_IOC_MAGIC, 0x00, struct pagemix_heap_info)
#define PAGEMIX_IOC_ALLOC	_IOWR(PAGEMIX_IOC_MAGIC, 0x01, struct pagemix_alloc)
#define PAGEMIX_IOC_BUF_INFO	_IOWR(PAGEMIX_IOC_MAGIC, 0x02, struct pagemix_buf_info)
#define PAGEMIX_IOC_BUF_RUNS	_IOWR(PAGEMIX_IOC_MAGIC, 0x03, struct pagemix_buf_runs)
#define PAGEMIX_IOC_BUF_ATTACHMENTS \
	_IOWR(PAGEMIX_IOC_MAGIC, 0x04, struct pagemix_buf_attachments)

#define PAGEMIX_IOC_TARGET_INFO	_IOWR(PAGEMIX_IOC_MAGIC, 0x20, struct pagemix_target_info)
#define PAGEMIX_IOC_TARGET_OP	_IOWR(PAGEMIX_IOC_MAGIC, 0x21, struct pagemix_target_op)
#define PAGEMIX_IOC_TARGET_RING	_IOWR(PAGEMIX_IOC_MAGIC, 0x22, struct pagemix_target_ring)
#define PAGEMIX_IOC_TARGET_RUN	_IOWR(PAGEMIX_IOC_MAGIC, 0x23, struct pagemix_target_run)

#endif /* _UAPI_PAGEMIX_H */
