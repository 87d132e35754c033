// Devices: one, with attributes as programs expect them of the compute capability it claims.
#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "driver/state.h"

using namespace fatload;

namespace {

bool is_device(CUdevice device) { return device == 0; }

// Attributes that do not depend on the device: limits of the API and of textures, and what is not provided (0).
struct Attribute {
  int number, value;
};
constexpr Attribute kAttributes[] = {
    {1, 1024},   {2, 1024},     {3, 1024},       {4, 64},      {5, INT_MAX}, {6, 65535},    {7, 65535},  {9, 65536},
    {10, 32},    {11, INT_MAX}, {12, 65536},     {14, 512},    {15, 1},      {17, 0},       {18, 0},     {19, 1},
    {20, 0},     {21, 131072},  {22, 131072},    {23, 65536},  {24, 16384},  {25, 16384},   {26, 16384}, {27, 32768},
    {28, 32768}, {29, 2048},    {30, 512},       {31, 1},      {32, 0},      {35, 0},       {40, 1},     {41, 1},
    {42, 32768}, {43, 2048},    {44, 1},         {45, 32768},  {46, 32768},  {47, 8192},    {48, 8192},  {49, 32768},
    {51, 32},    {52, 32768},   {53, 32768},     {54, 2046},   {55, 32768},  {56, 131072},  {57, 65536}, {58, 16384},
    {59, 16384}, {60, 16384},   {61, 32768},     {62, 2048},   {63, 32768},  {64, 32768},   {65, 2048},  {66, 32768},
    {67, 32768}, {68, 2046},    {69, 268435456}, {70, 131072}, {71, 65000},  {72, 2097120}, {73, 32768}, {74, 32768},
    {77, 32768}, {78, 1},       {79, 1},         {80, 1},      {82, 65536},  {83, 1},       {84, 0},     {85, 0},
    {86, 1},     {87, 2},       {88, 1},         {89, 1},      {90, 1},      {91, 1},       {95, 1},     {96, 0},
    {99, 1},     {100, 1},      {101, 1},        {111, 1024},  {113, 1},     {130, 0},      {131, -1},   {134, -1},
};

}  // namespace

namespace fatload {
void compute_capability(int* major, int* minor) {
  int number = 89;
  if (const char* wanted = std::getenv("FATLOAD_COMPUTE_CAPABILITY")) {
    int a = 0, b = 0;
    char rest;
    if (std::sscanf(wanted, "%d.%d%c", &a, &b, &rest) == 2 && a >= 1 && a <= 99 && b >= 0 && b <= 9) {
      number = a * 10 + b;
    } else {
      static bool told = false;
      if (!told) std::fprintf(stderr, "fatload: FATLOAD_COMPUTE_CAPABILITY=%s is not of the form 8.9\n", wanted);
      told = true;
    }
  }
  *major = number / 10;
  *minor = number % 10;
}
}  // namespace fatload

API CUresult cuDeviceGetCount(int* count) {
  Call call("cuDeviceGetCount", Call::Init);
  if (!call) return call.result();
  if (!count) return CUDA_ERROR_INVALID_VALUE;
  *count = 1;
  return CUDA_SUCCESS;
}

API CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  Call call("cuDeviceGet", Call::Init);
  if (!call) return call.result();
  if (!device) return CUDA_ERROR_INVALID_VALUE;
  if (!is_device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

API CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  Call call("cuDeviceGetName", Call::Init);
  if (!call) return call.result();
  if (!name || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  std::snprintf(name, static_cast<size_t>(length), "%s", State::get().device->info().name.c_str());
  return CUDA_SUCCESS;
}

API CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  Call call("cuDeviceGetUuid", Call::Init);
  if (!call) return call.result();
  if (!uuid) return CUDA_ERROR_INVALID_VALUE;
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  std::memcpy(uuid->bytes, State::get().device->info().uuid, sizeof uuid->bytes);
  return CUDA_SUCCESS;
}
API_SAME(cuDeviceGetUuid_v2, cuDeviceGetUuid, (CUuuid * uuid, CUdevice device), (uuid, device))

API CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  Call call("cuDeviceTotalMem", Call::Init);
  if (!call) return call.result();
  if (!bytes) return CUDA_ERROR_INVALID_VALUE;
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *bytes = State::get().device->info().total_memory;
  return CUDA_SUCCESS;
}

API CUresult cuDeviceTotalMem(unsigned* bytes, CUdevice device) {
  size_t all = 0;
  CUresult result = cuDeviceTotalMem_v2(bytes ? &all : nullptr, device);
  if (result == CUDA_SUCCESS) *bytes = static_cast<unsigned>(std::min<size_t>(all, UINT_MAX));
  return result;
}

API CUresult cuDeviceGetAttribute(int* value, int attribute, CUdevice device) {
  Call call("cuDeviceGetAttribute", Call::Init);
  if (!call) return call.result();
  if (!value) return CUDA_ERROR_INVALID_VALUE;
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  if (attribute <= 0) return CUDA_ERROR_INVALID_VALUE;
  const DeviceInfo& info = State::get().device->info();
  int major, minor;
  switch (attribute) {
    case 8:
      *value = info.shared_per_cta;
      return CUDA_SUCCESS;
    case 13:
      *value = info.clock_khz;
      return CUDA_SUCCESS;
    case 16:
      *value = info.multiprocessors;
      return CUDA_SUCCESS;
    case 33:
      *value = info.pci_bus;
      return CUDA_SUCCESS;
    case 34:
      *value = info.pci_device;
      return CUDA_SUCCESS;
    case 36:
      *value = info.memory_clock_khz;
      return CUDA_SUCCESS;
    case 37:
      *value = info.memory_bus_bits;
      return CUDA_SUCCESS;
    case 38:
      *value = info.l2_bytes;
      return CUDA_SUCCESS;
    case 39:
      *value = info.max_threads_per_multiprocessor;
      return CUDA_SUCCESS;
    case 50:
      *value = info.pci_domain;
      return CUDA_SUCCESS;
    case 75:
      compute_capability(value, &minor);
      return CUDA_SUCCESS;
    case 76:
      compute_capability(&major, value);
      return CUDA_SUCCESS;
    case 81:
      *value = info.shared_per_multiprocessor;
      return CUDA_SUCCESS;
    case 97:
      *value = info.shared_per_cta_optin;
      return CUDA_SUCCESS;
    case 106:
      *value = info.max_ctas_per_multiprocessor;
      return CUDA_SUCCESS;
    default:
      break;
  }
  // An unknown number: 0 is the safe answer, since runtimes take one failure for a failed start.
  *value = 0;
  for (const Attribute& a : kAttributes)
    if (a.number == attribute) *value = a.value;
  return CUDA_SUCCESS;
}

API CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  Call call("cuDeviceComputeCapability", Call::Init);
  if (!call) return call.result();
  if (!major || !minor) return CUDA_ERROR_INVALID_VALUE;
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  compute_capability(major, minor);
  return CUDA_SUCCESS;
}

API CUresult cuDeviceGetProperties(CUdevprop* p, CUdevice device) {
  Call call("cuDeviceGetProperties", Call::Init);
  if (!call) return call.result();
  if (!p) return CUDA_ERROR_INVALID_VALUE;
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  const DeviceInfo& info = State::get().device->info();
  *p = {1024, {1024, 1024, 64}, {INT_MAX, 65535, 65535}, info.shared_per_cta, 65536, 32, INT_MAX, 65536, info.clock_khz,
        512};
  return CUDA_SUCCESS;
}

API CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice device) {
  Call call("cuDeviceGetPCIBusId", Call::Init);
  if (!call) return call.result();
  if (!text || length < 13) return CUDA_ERROR_INVALID_VALUE;
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  const DeviceInfo& info = State::get().device->info();
  std::snprintf(text, static_cast<size_t>(length), "%04x:%02x:%02x.0", info.pci_domain, info.pci_bus, info.pci_device);
  return CUDA_SUCCESS;
}

API CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* text) {
  Call call("cuDeviceGetByPCIBusId", Call::Init);
  if (!call) return call.result();
  if (!device || !text) return CUDA_ERROR_INVALID_VALUE;
  const DeviceInfo& info = State::get().device->info();
  unsigned domain = 0, bus = 0, slot = 0;
  bool whole = std::sscanf(text, "%x:%x:%x", &domain, &bus, &slot) == 3;
  if (!whole) {
    domain = 0;
    if (std::sscanf(text, "%x:%x", &bus, &slot) != 2) return CUDA_ERROR_INVALID_VALUE;
  }
  if (static_cast<int>(domain) != info.pci_domain || static_cast<int>(bus) != info.pci_bus ||
      static_cast<int>(slot) != info.pci_device)
    return CUDA_ERROR_INVALID_DEVICE;
  *device = 0;
  return CUDA_SUCCESS;
}

API CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  Call call("cuDeviceCanAccessPeer", Call::Init);
  if (!call) return call.result();
  if (!can) return CUDA_ERROR_INVALID_VALUE;
  if (!is_device(device) || !is_device(peer)) return CUDA_ERROR_INVALID_DEVICE;
  *can = 0;  // a device is not its own peer
  return CUDA_SUCCESS;
}

API CUresult cuDeviceGetP2PAttribute(int*, int, CUdevice device, CUdevice peer) {
  Call call("cuDeviceGetP2PAttribute", Call::Init);
  if (!call) return call.result();
  (void)device;
  (void)peer;
  return CUDA_ERROR_INVALID_DEVICE;  // there are no two devices
}
