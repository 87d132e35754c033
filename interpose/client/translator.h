// What the device asks for: a module's manifest and a kernel's object, from the cache or from the service.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "client/manifest.h"
#include "client/service.h"
#include "device/device.h"

namespace fatload::client {

class Translator {
 public:
  Translator();

  // The manifest of a module made of `images`. `check`: the program handed PTX over, so all of it is read now and
  // errors and the JIT log are due. Errors: 200, 209, 218, 222 from the service, 999 when there is no service.
  CUresult manifest(const std::string& module, const std::vector<Image>& images, bool check, Manifest* out,
                    std::string* log);

  // The object of a kernel for the best of `targets` (best first). Shape `row` or `any`; an object for `any` serves
  // both.
  CUresult object(const std::string& module, const std::vector<Image>& images, const std::string& kernel,
                  const std::vector<std::string>& targets, const std::string& shape, Object* out, std::string* error);

  void before_fork() { service_.before_fork(); }
  void after_fork_in_parent() { service_.after_fork_in_parent(); }
  void after_fork() { service_.after_fork(); }

 private:
  bool cached_object(const std::string& module, const std::string& kernel, const std::vector<std::string>& targets,
                     const std::string& shape, Object* out) const;

  std::string cache_;
  Service service_;
};

}  // namespace fatload::client
