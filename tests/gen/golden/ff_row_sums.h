/* Register map of FuseFlow graph row_sums, hash 6f0d9ed3b58bbdfa. */
#ifndef FF_ROW_SUMS_H
#define FF_ROW_SUMS_H

#define FF_ROW_SUMS_HASH 0x6f0d9ed3b58bbdfaULL
#define FF_ROW_SUMS_REG_id 0x0u
#define FF_ROW_SUMS_REG_version 0x4u
#define FF_ROW_SUMS_REG_hash_lo 0x8u
#define FF_ROW_SUMS_REG_hash_hi 0xcu
#define FF_ROW_SUMS_REG_control 0x10u
#define FF_ROW_SUMS_REG_status 0x14u
#define FF_ROW_SUMS_REG_error 0x18u
#define FF_ROW_SUMS_REG_cycles_lo 0x20u
#define FF_ROW_SUMS_REG_cycles_hi 0x24u
#define FF_ROW_SUMS_REG_shape_B_0 0x40u
#define FF_ROW_SUMS_REG_shape_B_1 0x44u
#define FF_ROW_SUMS_REG_shape_x_0 0x48u
#define FF_ROW_SUMS_REG_count_x_val 0x4cu
#define FF_ROW_SUMS_CONTROL_START 0x1u
#define FF_ROW_SUMS_STATUS_BUSY 0x1u
#define FF_ROW_SUMS_STATUS_DONE 0x2u
#define FF_ROW_SUMS_STATUS_OVERFLOW 0x4u
#define FF_ROW_SUMS_BASE_B_seg1 0x400u
#define FF_ROW_SUMS_WORDS_B_seg1 6u
#define FF_ROW_SUMS_BASE_B_crd1 0x440u
#define FF_ROW_SUMS_WORDS_B_crd1 11u
#define FF_ROW_SUMS_BASE_B_val 0x480u
#define FF_ROW_SUMS_WORDS_B_val 11u
#define FF_ROW_SUMS_BASE_x_val 0x4c0u
#define FF_ROW_SUMS_WORDS_x_val 5u

#endif /* FF_ROW_SUMS_H */
