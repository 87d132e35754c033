target triple = "amdgcn-amd-amdhsa"


define protected amdgpu_kernel void @"vecadd"(ptr addrspace(4) byref([28 x i8]) align 16 %args) convergent nounwind "target-cpu"="gfx1100" "target-features"="+wavefrontsize32" "denormal-fp-math-f32"="ieee,ieee" "uniform-work-group-size"="true" "amdgpu-flat-work-group-size"="1,1024" {
entry:
  %t3 = alloca i64, addrspace(5)
  %t6 = alloca i64, addrspace(5)
  %t9 = alloca i64, addrspace(5)
  %t12 = alloca i32, addrspace(5)
  %t13 = call i32 @llvm.amdgcn.workgroup.id.x()
  %t14 = alloca i32, addrspace(5)
  %t15 = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %t16 = getelementptr i8, ptr addrspace(4) %t15, i64 12
  %t17 = load i16, ptr addrspace(4) %t16, align 2
  %t18 = zext i16 %t17 to i32
  %t19 = alloca i32, addrspace(5)
  %t20 = call i32 @llvm.amdgcn.workitem.id.x()
  %t21 = alloca i32, addrspace(5)
  %t27 = alloca i32, addrspace(5)
  %t31 = alloca i1, addrspace(5)
  %t39 = alloca i64, addrspace(5)
  %t43 = alloca i64, addrspace(5)
  %t47 = alloca i64, addrspace(5)
  %t51 = alloca i64, addrspace(5)
  %t55 = alloca float, addrspace(5)
  %t59 = alloca float, addrspace(5)
  %t63 = alloca float, addrspace(5)
  br label %b0
b0:
  %t1 = getelementptr i8, ptr addrspace(4) %args, i64 0
  %t2 = load i64, ptr addrspace(4) %t1, align 8
  store i64 %t2, ptr addrspace(5) %t3
  %t4 = getelementptr i8, ptr addrspace(4) %args, i64 8
  %t5 = load i64, ptr addrspace(4) %t4, align 8
  store i64 %t5, ptr addrspace(5) %t6
  %t7 = getelementptr i8, ptr addrspace(4) %args, i64 16
  %t8 = load i64, ptr addrspace(4) %t7, align 8
  store i64 %t8, ptr addrspace(5) %t9
  %t10 = getelementptr i8, ptr addrspace(4) %args, i64 24
  %t11 = load i32, ptr addrspace(4) %t10, align 4
  store i32 %t11, ptr addrspace(5) %t12
  store i32 %t13, ptr addrspace(5) %t14
  store i32 %t18, ptr addrspace(5) %t19
  store i32 %t20, ptr addrspace(5) %t21
  %t22 = load i32, ptr addrspace(5) %t14
  %t23 = load i32, ptr addrspace(5) %t19
  %t24 = mul i32 %t22, %t23
  %t25 = load i32, ptr addrspace(5) %t21
  %t26 = add i32 %t24, %t25
  store i32 %t26, ptr addrspace(5) %t27
  %t28 = load i32, ptr addrspace(5) %t27
  %t29 = load i32, ptr addrspace(5) %t12
  %t30 = icmp sge i32 %t28, %t29
  store i1 %t30, ptr addrspace(5) %t31
  %t32 = load i1, ptr addrspace(5) %t31
  br i1 %t32, label %b2, label %b1
b1:
  %t33 = load i64, ptr addrspace(5) %t3
  store i64 %t33, ptr addrspace(5) %t3
  %t34 = load i64, ptr addrspace(5) %t6
  store i64 %t34, ptr addrspace(5) %t6
  %t35 = load i64, ptr addrspace(5) %t9
  store i64 %t35, ptr addrspace(5) %t9
  %t36 = load i32, ptr addrspace(5) %t27
  %t37 = sext i32 %t36 to i64
  %t38 = mul i64 %t37, 4
  store i64 %t38, ptr addrspace(5) %t39
  %t40 = load i64, ptr addrspace(5) %t3
  %t41 = load i64, ptr addrspace(5) %t39
  %t42 = add i64 %t40, %t41
  store i64 %t42, ptr addrspace(5) %t43
  %t44 = load i64, ptr addrspace(5) %t6
  %t45 = load i64, ptr addrspace(5) %t39
  %t46 = add i64 %t44, %t45
  store i64 %t46, ptr addrspace(5) %t47
  %t48 = load i64, ptr addrspace(5) %t9
  %t49 = load i64, ptr addrspace(5) %t39
  %t50 = add i64 %t48, %t49
  store i64 %t50, ptr addrspace(5) %t51
  %t52 = load i64, ptr addrspace(5) %t43
  %t53 = inttoptr i64 %t52 to ptr addrspace(1)
  %t54 = load float, ptr addrspace(1) %t53, align 4
  store float %t54, ptr addrspace(5) %t55
  %t56 = load i64, ptr addrspace(5) %t47
  %t57 = inttoptr i64 %t56 to ptr addrspace(1)
  %t58 = load float, ptr addrspace(1) %t57, align 4
  store float %t58, ptr addrspace(5) %t59
  %t60 = load float, ptr addrspace(5) %t55
  %t61 = load float, ptr addrspace(5) %t59
  %t62 = fadd float %t60, %t61
  store float %t62, ptr addrspace(5) %t63
  %t64 = load i64, ptr addrspace(5) %t51
  %t65 = load float, ptr addrspace(5) %t63
  %t66 = inttoptr i64 %t64 to ptr addrspace(1)
  store float %t65, ptr addrspace(1) %t66, align 4
  br label %b2
b2:
  ret void
}

declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.workitem.id.x()
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()

attributes #1 = { convergent nounwind }
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 600}
