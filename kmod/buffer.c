// SPDX-License-Identifier: GPL-2.0-only
/*
 * The dma-buf exporter.
 *
 * As the system heap's, but for mmap: refcounted pages are inserted, so that
 * user space can pin them. The system heap's remap_pfn_range() mapping is
 * VM_PFNMAP, which VFIO and iommufd refuse with EFAULT.
 */
#include <linux/dma-mapping.h>
#include <linux/highmem.h>
#include <linux/iommu.h>
#include <linux/iosys-map.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "buffer.h"
#include "compat.h"

/**
 * struct pagemix_attachment - one device's view of a buffer
 * @dev:       the device
 * @table:     its own scatter-gather table, one entry a chunk
 * @node:      in pagemix_buffer.attachments
 * @mapped:    between map_dma_buf and unmap_dma_buf
 * @direction: of that mapping
 */
struct pagemix_attachment {
	struct device *dev;
	struct sg_table table;
	struct list_head node;
	bool mapped;
	enum dma_data_direction direction;
};

bool pagemix_buffer_next_run(const struct pagemix_buffer *buffer, size_t *chunk,
			     struct pagemix_run *run)
{
	const struct pagemix_chunk *v = buffer->chunks.v;
	size_t i = *chunk;

	if (i >= buffer->chunks.nr)
		return false;
	run->phys = page_to_phys(v[i].page);
	run->bytes = 0;
	do {
		run->bytes += PAGE_SIZE << v[i].order;
		i++;
	} while (i < buffer->chunks.nr && page_to_phys(v[i].page) == run->phys + run->bytes);
	*chunk = i;
	return true;
}

/**
 * pagemix_buffer_sgtable - make a scatter-gather table of a buffer
 * @buffer: the buffer
 * @table:  filled in, one entry a chunk; free with sg_free_table()
 *
 * Return: 0 or -ENOMEM.
 */
int pagemix_buffer_sgtable(const struct pagemix_buffer *buffer, struct sg_table *table)
{
	struct scatterlist *sg;
	unsigned int i;
	int err;

	err = sg_alloc_table(table, buffer->chunks.nr, GFP_KERNEL);
	if (err)
		return err;
	for_each_sgtable_sg(table, sg, i) {
		const struct pagemix_chunk *chunk = &buffer->chunks.v[i];

		sg_set_page(sg, chunk->page, PAGE_SIZE << chunk->order, 0);
	}
	return 0;
}

static int buffer_attach(struct dma_buf *dmabuf, struct dma_buf_attachment *attachment)
{
	struct pagemix_buffer *buffer = dmabuf->priv;
	struct pagemix_attachment *a;
	int err;

	a = kzalloc(sizeof(*a), GFP_KERNEL);
	if (!a)
		return -ENOMEM;
	err = pagemix_buffer_sgtable(buffer, &a->table);
	if (err) {
		kfree(a);
		return err;
	}
	a->dev = attachment->dev;
	attachment->priv = a;

	mutex_lock(&buffer->lock);
	list_add(&a->node, &buffer->attachments);
	mutex_unlock(&buffer->lock);
	return 0;
}

static void buffer_detach(struct dma_buf *dmabuf, struct dma_buf_attachment *attachment)
{
	struct pagemix_buffer *buffer = dmabuf->priv;
	struct pagemix_attachment *a = attachment->priv;

	mutex_lock(&buffer->lock);
	list_del(&a->node);
	mutex_unlock(&buffer->lock);

	sg_free_table(&a->table);
	kfree(a);
}

static struct sg_table *buffer_map(struct dma_buf_attachment *attachment,
				   enum dma_data_direction direction)
{
	struct pagemix_buffer *buffer = attachment->dmabuf->priv;
	struct pagemix_attachment *a = attachment->priv;
	int err;

	err = dma_map_sgtable(attachment->dev, &a->table, direction, PAGEMIX_MAP_ATTRS);
	if (err)
		return ERR_PTR(err);
	mutex_lock(&buffer->lock);
	a->mapped = true;
	a->direction = direction;
	mutex_unlock(&buffer->lock);
	return &a->table;
}

static void buffer_unmap(struct dma_buf_attachment *attachment, struct sg_table *table,
			 enum dma_data_direction direction)
{
	struct pagemix_buffer *buffer = attachment->dmabuf->priv;
	struct pagemix_attachment *a = attachment->priv;

	mutex_lock(&buffer->lock);
	a->mapped = false;
	mutex_unlock(&buffer->lock);
	dma_unmap_sgtable(attachment->dev, table, direction, PAGEMIX_MAP_ATTRS);
}

/*
 * The DMA API wants the direction of the mapping; only a bidirectional one may be
 * synced for less. What the CPU does is the caller's, who need not know the mappings.
 */
static enum dma_data_direction sync_direction(const struct pagemix_attachment *a,
					      enum dma_data_direction direction)
{
	return a->direction == DMA_BIDIRECTIONAL ? direction : a->direction;
}

static int buffer_begin_cpu_access(struct dma_buf *dmabuf, enum dma_data_direction direction)
{
	struct pagemix_buffer *buffer = dmabuf->priv;
	struct pagemix_attachment *a;

	mutex_lock(&buffer->lock);
	if (buffer->vmap_cnt)
		invalidate_kernel_vmap_range(buffer->vaddr, buffer->bytes);
	list_for_each_entry(a, &buffer->attachments, node)
		if (a->mapped)
			dma_sync_sgtable_for_cpu(a->dev, &a->table,
						 sync_direction(a, direction));
	mutex_unlock(&buffer->lock);
	return 0;
}

static int buffer_end_cpu_access(struct dma_buf *dmabuf, enum dma_data_direction direction)
{
	struct pagemix_buffer *buffer = dmabuf->priv;
	struct pagemix_attachment *a;

	mutex_lock(&buffer->lock);
	if (buffer->vmap_cnt)
		flush_kernel_vmap_range(buffer->vaddr, buffer->bytes);
	list_for_each_entry(a, &buffer->attachments, node)
		if (a->mapped)
			dma_sync_sgtable_for_device(a->dev, &a->table,
						    sync_direction(a, direction));
	mutex_unlock(&buffer->lock);
	return 0;
}

/* Pages of the whole buffer, in buffer order; free with kvfree(). */
static struct page **buffer_pages(const struct pagemix_buffer *buffer)
{
	struct page **pages;
	size_t i, k, n = 0;

	pages = kvmalloc_array(buffer->bytes >> PAGE_SHIFT, sizeof(*pages), GFP_KERNEL);
	if (!pages)
		return NULL;
	for (i = 0; i < buffer->chunks.nr; i++)
		for (k = 0; k < 1UL << buffer->chunks.v[i].order; k++)
			pages[n++] = buffer->chunks.v[i].page + k;
	return pages;
}

static int buffer_mmap(struct dma_buf *dmabuf, struct vm_area_struct *vma)
{
	struct pagemix_buffer *buffer = dmabuf->priv;
	unsigned long left = vma_pages(vma);
	struct page **pages;
	int err;

	/* A private mapping would show the CPU a copy of what devices see. */
	if (!(vma->vm_flags & (VM_SHARED | VM_MAYSHARE)))
		return -EINVAL;
	/* dma_buf_mmap_internal() checks this for mmap(); importers come here too. */
	if (vma->vm_pgoff > buffer->bytes >> PAGE_SHIFT ||
	    left > (buffer->bytes >> PAGE_SHIFT) - vma->vm_pgoff)
		return -EINVAL;
	pages = buffer_pages(buffer);
	if (!pages)
		return -ENOMEM;
	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	err = vm_insert_pages(vma, vma->vm_start, pages + vma->vm_pgoff, &left);
	kvfree(pages);
	return err;
}

static int buffer_vmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
	struct pagemix_buffer *buffer = dmabuf->priv;
	struct page **pages;
	int err = 0;

	mutex_lock(&buffer->lock);
	if (!buffer->vmap_cnt) {
		pages = buffer_pages(buffer);
		if (pages)
			buffer->vaddr = vmap(pages, buffer->bytes >> PAGE_SHIFT, VM_MAP,
					     PAGE_KERNEL);
		kvfree(pages);
		if (!buffer->vaddr)
			err = -ENOMEM;
	}
	if (!err) {
		buffer->vmap_cnt++;
		iosys_map_set_vaddr(map, buffer->vaddr);
	}
	mutex_unlock(&buffer->lock);
	return err;
}

static void buffer_vunmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
	struct pagemix_buffer *buffer = dmabuf->priv;

	mutex_lock(&buffer->lock);
	if (!--buffer->vmap_cnt) {
		vunmap(buffer->vaddr);
		buffer->vaddr = NULL;
	}
	mutex_unlock(&buffer->lock);
	iosys_map_clear(map);
}

static void buffer_release(struct dma_buf *dmabuf)
{
	struct pagemix_buffer *buffer = dmabuf->priv;

	pagemix_chunks_free(&buffer->chunks);
	kfree(buffer);
}

static const struct dma_buf_ops buffer_ops = {
	.attach = buffer_attach,
	.detach = buffer_detach,
	.map_dma_buf = buffer_map,
	.unmap_dma_buf = buffer_unmap,
	.begin_cpu_access = buffer_begin_cpu_access,
	.end_cpu_access = buffer_end_cpu_access,
	.mmap = buffer_mmap,
	.vmap = buffer_vmap,
	.vunmap = buffer_vunmap,
	.release = buffer_release,
};

/**
 * pagemix_buffer_of - the buffer behind a dma-buf
 * @dmabuf: any dma-buf
 *
 * Return: the buffer, or NULL if another exporter made @dmabuf.
 */
struct pagemix_buffer *pagemix_buffer_of(struct dma_buf *dmabuf)
{
	return dmabuf->ops == &buffer_ops ? dmabuf->priv : NULL;
}

/* Does an IOMMU translate the DMA of @dev? */
static bool dev_is_translated(struct device *dev)
{
	const struct iommu_domain *domain = iommu_get_domain_for_dev(dev);

	return domain && domain->type & __IOMMU_DOMAIN_PAGING;
}

/**
 * pagemix_buffer_attachments - count who imports a buffer
 * @buffer: the buffer
 * @out:    @attached, @mapped and @translated are filled in
 */
void pagemix_buffer_attachments(struct pagemix_buffer *buffer, struct pagemix_buf_attachments *out)
{
	struct pagemix_attachment *a;

	out->attached = 0;
	out->mapped = 0;
	out->translated = 0;
	mutex_lock(&buffer->lock);
	list_for_each_entry(a, &buffer->attachments, node) {
		out->attached++;
		out->mapped += a->mapped;
		out->translated += a->mapped && dev_is_translated(a->dev);
	}
	mutex_unlock(&buffer->lock);
}

static int buffer_fill(struct pagemix_buffer *buffer, const struct pagemix_alloc *args)
{
	struct pagemix_run run;
	size_t chunk = 0;
	int err;

	err = pagemix_chunks_alloc(&buffer->chunks, buffer->bytes, args->steps, args->nsteps);
	if (err)
		return err;
	if (buffer->layout == PAGEMIX_LAYOUT_SCATTERED)
		pagemix_chunks_shuffle(&buffer->chunks, buffer->seed);
	while (pagemix_buffer_next_run(buffer, &chunk, &run)) {
		buffer->nr_runs++;
		buffer->largest_run = max_t(u64, buffer->largest_run, run.bytes);
	}
	return 0;
}

/**
 * pagemix_buffer_create - allocate a buffer and export it
 * @args: checked by this function; @args->fd is not used
 *
 * Return: the dma-buf, or an error pointer: -EINVAL for arguments out of range,
 * -ENOMEM, -EINTR.
 */
struct dma_buf *pagemix_buffer_create(const struct pagemix_alloc *args)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct pagemix_buffer *buffer;
	struct dma_buf *dmabuf;
	u64 bytes;
	int err;

	if (args->fd_flags & ~(O_CLOEXEC | O_ACCMODE))
		return ERR_PTR(-EINVAL);
	if (args->layout > PAGEMIX_LAYOUT_SCATTERED)
		return ERR_PTR(-EINVAL);
	if (!args->bytes || args->bytes > LONG_MAX - PAGE_SIZE)
		return ERR_PTR(-EINVAL);
	bytes = PAGE_ALIGN(args->bytes);
	err = pagemix_mix_check(args->steps, args->nsteps, bytes);
	if (err)
		return ERR_PTR(err);
	if (bytes >> PAGE_SHIFT > totalram_pages() / 2)
		return ERR_PTR(-ENOMEM);

	buffer = kzalloc(sizeof(*buffer), GFP_KERNEL);
	if (!buffer)
		return ERR_PTR(-ENOMEM);
	buffer->bytes = bytes;
	buffer->layout = args->layout;
	buffer->seed = args->seed;
	mutex_init(&buffer->lock);
	INIT_LIST_HEAD(&buffer->attachments);

	err = buffer_fill(buffer, args);
	if (err)
		goto err_buffer;

	info.exp_name = "pagemix";
	info.ops = &buffer_ops;
	info.size = buffer->bytes;
	info.flags = args->fd_flags;
	info.priv = buffer;
	dmabuf = dma_buf_export(&info);
	if (IS_ERR(dmabuf)) {
		err = PTR_ERR(dmabuf);
		goto err_chunks;
	}
	return dmabuf;

err_chunks:
	pagemix_chunks_free(&buffer->chunks);
err_buffer:
	kfree(buffer);
	return ERR_PTR(err);
}
