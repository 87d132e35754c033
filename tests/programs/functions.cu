// Device functions: recursion, structures by value, local arrays, templates, dynamic shared memory, 64-bit and double
// arithmetic.
#include "check.h"

struct Vector {
  double x, y, z;
  int tag;
};

__device__ __noinline__ Vector cross(Vector a, Vector b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x, a.tag + b.tag};
}

__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}

__device__ __noinline__ bool odd(int n);
__device__ __noinline__ bool even(int n) { return n == 0 ? true : odd(n - 1); }
__device__ __noinline__ bool odd(int n) { return n == 0 ? false : even(n - 1); }

template <typename T, int N>
__device__ T digits(T value) {
  T place[N];
  for (int i = 0; i < N; i++) {
    place[i] = value % 10;
    value /= 10;
  }
  T sum = 0;
  for (int i = 0; i < N; i++) sum = sum * 10 + place[(i + static_cast<int>(place[0])) % N];
  return sum;
}

__global__ void work(Vector* v, unsigned* a, unsigned long long* d, int* e) {
  int t = threadIdx.x;
  Vector p = {t + 1.0, t * 2.0, 3.0, t}, q = {1.0, -t * 1.0, t * 0.5, 1000};
  v[t] = cross(cross(p, q), p);
  a[t] = ackermann(t % 3, t % 4);
  d[t] = digits<unsigned long long, 12>(123456789012ull + t * 987654321ull) * 100000 + digits<unsigned, 4>(t * 37);
  e[t] = even(t) ? 1 : 2;
}

static unsigned ackermann_host(unsigned m, unsigned n) {
  return m == 0 ? n + 1 : ackermann_host(m - 1, n == 0 ? 1 : ackermann_host(m, n - 1));
}

template <typename T>
static T digits_host(T value, int n) {
  std::vector<T> place(n);
  for (T& p : place) p = value % 10, value /= 10;
  T sum = 0;
  for (int i = 0; i < n; i++) sum = sum * 10 + place[(i + static_cast<int>(place[0])) % n];
  return sum;
}

int main() {
  const int n = 64;
  Vector* v = zeros<Vector>(n);
  unsigned* a = zeros<unsigned>(n);
  unsigned long long* d = zeros<unsigned long long>(n);
  int* e = zeros<int>(n);
  work<<<1, n>>>(v, a, d, e);
  LAUNCHED();
  std::vector<Vector> gv = to_host(v, n);
  std::vector<unsigned> ga = to_host(a, n);
  std::vector<unsigned long long> gd = to_host(d, n);
  std::vector<int> ge = to_host(e, n);
  bool good = true;
  for (int t = 0; t < n; t++) {
    double px = t + 1, py = t * 2, pz = 3, qx = 1, qy = -t, qz = t * 0.5;  // all exact, so that fused operations agree
    double cx = py * qz - pz * qy, cy = pz * qx - px * qz, cz = px * qy - py * qx;
    good &= gv[t].x == cy * pz - cz * py && gv[t].y == cz * px - cx * pz && gv[t].z == cx * py - cy * px;
    good &= gv[t].tag == 2 * t + 1000 && ga[t] == ackermann_host(t % 3, t % 4) && ge[t] == (t % 2 ? 2 : 1);
    good &= gd[t] == digits_host<unsigned long long>(123456789012ull + t * 987654321ull, 12) * 100000 +
                         digits_host<unsigned>(t * 37, 4);
  }
  return report("functions", good);
}
