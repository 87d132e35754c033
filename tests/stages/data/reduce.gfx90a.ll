target triple = "amdgcn-amd-amdhsa"

@"room" = internal addrspace(3) global [1024 x i8] poison, align 4

define protected amdgpu_kernel void @"reduce"(ptr addrspace(4) byref([16 x i8]) align 16 %args) convergent nounwind "target-cpu"="gfx90a" "target-features"="+wavefrontsize64" "denormal-fp-math-f32"="ieee,ieee" "uniform-work-group-size"="true" "amdgpu-flat-work-group-size"="1,1024" {
entry:
  %t3 = alloca i64, addrspace(5)
  %t4 = call i32 @llvm.amdgcn.workitem.id.x()
  %t5 = alloca i32, addrspace(5)
  %t6 = call i32 @llvm.amdgcn.workgroup.id.x()
  %t7 = alloca i32, addrspace(5)
  %t12 = alloca i32, addrspace(5)
  %t16 = alloca i64, addrspace(5)
  %t23 = alloca i32, addrspace(5)
  %t27 = alloca i32, addrspace(5)
  %t30 = alloca i32, addrspace(5)
  %t34 = alloca i32, addrspace(5)
  %t40 = alloca i32, addrspace(5)
  %t44 = alloca i1, addrspace(5)
  %t48 = alloca i32, addrspace(5)
  %t52 = alloca i32, addrspace(5)
  %t58 = alloca i32, addrspace(5)
  %t76 = alloca i1, addrspace(5)
  %t80 = alloca i1, addrspace(5)
  %t84 = alloca i64, addrspace(5)
  %t88 = alloca i64, addrspace(5)
  %t92 = alloca i64, addrspace(5)
  br label %b0
b0:
  %t1 = getelementptr i8, ptr addrspace(4) %args, i64 0
  %t2 = load i64, ptr addrspace(4) %t1, align 8
  store i64 %t2, ptr addrspace(5) %t3
  store i32 %t4, ptr addrspace(5) %t5
  store i32 %t6, ptr addrspace(5) %t7
  %t8 = load i32, ptr addrspace(5) %t7
  %t9 = mul i32 %t8, 256
  %t10 = load i32, ptr addrspace(5) %t5
  %t11 = add i32 %t9, %t10
  store i32 %t11, ptr addrspace(5) %t12
  %t13 = load i32, ptr addrspace(5) %t12
  %t14 = zext i32 %t13 to i64
  %t15 = mul i64 %t14, 4
  store i64 %t15, ptr addrspace(5) %t16
  %t17 = load i64, ptr addrspace(5) %t3
  %t18 = load i64, ptr addrspace(5) %t16
  %t19 = add i64 %t17, %t18
  store i64 %t19, ptr addrspace(5) %t3
  %t20 = load i64, ptr addrspace(5) %t3
  %t21 = inttoptr i64 %t20 to ptr addrspace(1)
  %t22 = load i32, ptr addrspace(1) %t21, align 4
  store i32 %t22, ptr addrspace(5) %t23
  %t24 = ptrtoint ptr addrspace(3) @"room" to i32
  %t25 = zext i32 %t24 to i64
  %t26 = trunc i64 %t25 to i32
  store i32 %t26, ptr addrspace(5) %t27
  %t28 = load i32, ptr addrspace(5) %t5
  %t29 = shl i32 %t28, 2
  store i32 %t29, ptr addrspace(5) %t30
  %t31 = load i32, ptr addrspace(5) %t27
  %t32 = load i32, ptr addrspace(5) %t30
  %t33 = add i32 %t31, %t32
  store i32 %t33, ptr addrspace(5) %t34
  %t35 = load i32, ptr addrspace(5) %t34
  %t36 = zext i32 %t35 to i64
  %t37 = load i32, ptr addrspace(5) %t23
  %t38 = trunc i64 %t36 to i32
  %t39 = inttoptr i32 %t38 to ptr addrspace(3)
  store i32 %t37, ptr addrspace(3) %t39, align 4
  store i32 128, ptr addrspace(5) %t40
  br label %b1
b1:
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %t41 = load i32, ptr addrspace(5) %t5
  %t42 = load i32, ptr addrspace(5) %t40
  %t43 = icmp uge i32 %t41, %t42
  store i1 %t43, ptr addrspace(5) %t44
  %t45 = load i1, ptr addrspace(5) %t44
  br i1 %t45, label %b3, label %b2
b2:
  %t46 = load i32, ptr addrspace(5) %t40
  %t47 = shl i32 %t46, 2
  store i32 %t47, ptr addrspace(5) %t48
  %t49 = load i32, ptr addrspace(5) %t34
  %t50 = load i32, ptr addrspace(5) %t48
  %t51 = add i32 %t49, %t50
  store i32 %t51, ptr addrspace(5) %t52
  %t53 = load i32, ptr addrspace(5) %t52
  %t54 = zext i32 %t53 to i64
  %t55 = trunc i64 %t54 to i32
  %t56 = inttoptr i32 %t55 to ptr addrspace(3)
  %t57 = load i32, ptr addrspace(3) %t56, align 4
  store i32 %t57, ptr addrspace(5) %t58
  %t59 = load i32, ptr addrspace(5) %t34
  %t60 = zext i32 %t59 to i64
  %t61 = trunc i64 %t60 to i32
  %t62 = inttoptr i32 %t61 to ptr addrspace(3)
  %t63 = load i32, ptr addrspace(3) %t62, align 4
  store i32 %t63, ptr addrspace(5) %t23
  %t64 = load i32, ptr addrspace(5) %t23
  %t65 = load i32, ptr addrspace(5) %t58
  %t66 = add i32 %t64, %t65
  store i32 %t66, ptr addrspace(5) %t23
  %t67 = load i32, ptr addrspace(5) %t34
  %t68 = zext i32 %t67 to i64
  %t69 = load i32, ptr addrspace(5) %t23
  %t70 = trunc i64 %t68 to i32
  %t71 = inttoptr i32 %t70 to ptr addrspace(3)
  store i32 %t69, ptr addrspace(3) %t71, align 4
  br label %b3
b3:
  %t72 = load i32, ptr addrspace(5) %t40
  %t73 = lshr i32 %t72, 1
  store i32 %t73, ptr addrspace(5) %t40
  %t74 = load i32, ptr addrspace(5) %t40
  %t75 = icmp ne i32 %t74, 0
  store i1 %t75, ptr addrspace(5) %t76
  %t77 = load i1, ptr addrspace(5) %t76
  br i1 %t77, label %b1, label %b4
b4:
  %t78 = load i32, ptr addrspace(5) %t5
  %t79 = icmp ne i32 %t78, 0
  store i1 %t79, ptr addrspace(5) %t80
  %t81 = load i1, ptr addrspace(5) %t80
  br i1 %t81, label %b5, label %b6
b6:
  %t82 = getelementptr i8, ptr addrspace(4) %args, i64 8
  %t83 = load i64, ptr addrspace(4) %t82, align 8
  store i64 %t83, ptr addrspace(5) %t84
  %t85 = load i32, ptr addrspace(5) %t7
  %t86 = zext i32 %t85 to i64
  %t87 = mul i64 %t86, 4
  store i64 %t87, ptr addrspace(5) %t88
  %t89 = load i64, ptr addrspace(5) %t84
  %t90 = load i64, ptr addrspace(5) %t88
  %t91 = add i64 %t89, %t90
  store i64 %t91, ptr addrspace(5) %t92
  %t93 = load i64, ptr addrspace(5) %t92
  %t94 = load i32, ptr addrspace(5) %t23
  %t95 = inttoptr i64 %t93 to ptr addrspace(1)
  store i32 %t94, ptr addrspace(1) %t95, align 4
  ret void
b5:
  ret void
}

declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.s.barrier()

attributes #1 = { convergent nounwind }
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 600}
