// The kernels of gate-ocl.

// Integers only, so that every device must give the same bits.
kernel void known_answer(global ulong *out, uint rounds) {
    ulong x = (ulong)get_global_id(0) * 0x9E3779B97F4A7C15UL + 1UL;
    for (uint round = 0; round < rounds; round++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    out[get_global_id(0)] = x;
}

// Four chains of dependent operations, which keep the compute units busy and the memory idle.
kernel void spin(global float *out, uint rounds) {
    float4 x = (float4)(0.1f, 0.2f, 0.3f, 0.4f) + (float)get_global_id(0) * 1e-7f;
    for (uint round = 0; round < rounds; round++)
        x = mad(x, (float4)(0.999f), (float4)(0.001f));
    out[get_global_id(0)] = x.x + x.y + x.z + x.w;
}

kernel void fill(global float4 *to, float value) { to[get_global_id(0)] = (float4)(value); }

kernel void triad(global float4 *a, global const float4 *b, global const float4 *c, float s) {
    size_t i = get_global_id(0);
    a[i] = b[i] + s * c[i];
}
