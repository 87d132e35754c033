target triple = "amdgcn-amd-amdhsa"


define protected amdgpu_kernel void @"collatz"(ptr addrspace(4) byref([8 x i8]) align 16 %args) convergent nounwind "target-cpu"="gfx90a" "target-features"="+wavefrontsize64" "denormal-fp-math-f32"="ieee,ieee" "uniform-work-group-size"="true" "amdgpu-flat-work-group-size"="1,1024" {
entry:
  %t3 = alloca i64, addrspace(5)
  %t4 = call i32 @llvm.amdgcn.workitem.id.x()
  %t5 = alloca i32, addrspace(5)
  %t9 = alloca i64, addrspace(5)
  %t16 = alloca i32, addrspace(5)
  %t17 = alloca i32, addrspace(5)
  %t20 = alloca i1, addrspace(5)
  %t23 = alloca [4 x i8], align 16, addrspace(5)
  %t24 = alloca [4 x i8], align 16, addrspace(5)
  br label %b0
b0:
  %t1 = getelementptr i8, ptr addrspace(4) %args, i64 0
  %t2 = load i64, ptr addrspace(4) %t1, align 8
  store i64 %t2, ptr addrspace(5) %t3
  store i32 %t4, ptr addrspace(5) %t5
  %t6 = load i32, ptr addrspace(5) %t5
  %t7 = zext i32 %t6 to i64
  %t8 = mul i64 %t7, 4
  store i64 %t8, ptr addrspace(5) %t9
  %t10 = load i64, ptr addrspace(5) %t3
  %t11 = load i64, ptr addrspace(5) %t9
  %t12 = add i64 %t10, %t11
  store i64 %t12, ptr addrspace(5) %t3
  %t13 = load i64, ptr addrspace(5) %t3
  %t14 = inttoptr i64 %t13 to ptr addrspace(1)
  %t15 = load i32, ptr addrspace(1) %t14, align 4
  store i32 %t15, ptr addrspace(5) %t16
  store i32 0, ptr addrspace(5) %t17
  br label %b1
b1:
  %t18 = load i32, ptr addrspace(5) %t16
  %t19 = icmp ule i32 %t18, 1
  store i1 %t19, ptr addrspace(5) %t20
  %t21 = load i1, ptr addrspace(5) %t20
  br i1 %t21, label %b3, label %b2
b2:
  %t22 = load i32, ptr addrspace(5) %t16
  store i32 %t22, ptr addrspace(5) %t23, align 4
  call void @"f.step"(ptr addrspace(5) %t23, ptr addrspace(5) %t24) #1
  %t25 = load i32, ptr addrspace(5) %t24, align 4
  store i32 %t25, ptr addrspace(5) %t16
  %t26 = load i32, ptr addrspace(5) %t17
  %t27 = add i32 %t26, 1
  store i32 %t27, ptr addrspace(5) %t17
  br label %b1
b3:
  %t28 = load i64, ptr addrspace(5) %t3
  %t29 = load i32, ptr addrspace(5) %t17
  %t30 = inttoptr i64 %t28 to ptr addrspace(1)
  store i32 %t29, ptr addrspace(1) %t30, align 4
  ret void
}

define internal void @"f.step"(ptr addrspace(5) %p0, ptr addrspace(5) %p1) convergent nounwind "target-cpu"="gfx90a" "target-features"="+wavefrontsize64" "denormal-fp-math-f32"="ieee,ieee" "uniform-work-group-size"="true" {
entry:
  %t2 = alloca i32, addrspace(5)
  %t5 = alloca i32, addrspace(5)
  %t8 = alloca i1, addrspace(5)
  %t11 = alloca i32, addrspace(5)
  br label %b0
b0:
  %t1 = load i32, ptr addrspace(5) %p0, align 4
  store i32 %t1, ptr addrspace(5) %t2
  %t3 = load i32, ptr addrspace(5) %t2
  %t4 = and i32 %t3, 1
  store i32 %t4, ptr addrspace(5) %t5
  %t6 = load i32, ptr addrspace(5) %t5
  %t7 = icmp eq i32 %t6, 0
  store i1 %t7, ptr addrspace(5) %t8
  %t9 = load i32, ptr addrspace(5) %t2
  %t10 = lshr i32 %t9, 1
  store i32 %t10, ptr addrspace(5) %t11
  %t12 = load i1, ptr addrspace(5) %t8
  br i1 %t12, label %b2, label %b1
b1:
  %t13 = load i32, ptr addrspace(5) %t2
  %t14 = mul i32 %t13, 3
  %t15 = add i32 %t14, 1
  store i32 %t15, ptr addrspace(5) %t11
  br label %b2
b2:
  %t16 = load i32, ptr addrspace(5) %t11
  store i32 %t16, ptr addrspace(5) %p1, align 4
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()

attributes #1 = { convergent nounwind }
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 600}
