// What programs hand over as code: registration wrappers, fatbin containers, cubins, PTX text. Headers only are read;
// stored bytes are hashed and passed on as they are.
#pragma once
#include <string>
#include <vector>

#include "device/device.h"

namespace fatload {

// Chooses the images to translate for a compute capability (89 for 8.9). `text`: the program handed PTX text over,
// which must be checked as a whole. Errors: 1 NULL, 200 not an image, 209 no PTX in it (`found` names what there is).
CUresult choose_images(const void* data, int capability, std::vector<Image>* images, bool* text, std::string* found);

}  // namespace fatload
