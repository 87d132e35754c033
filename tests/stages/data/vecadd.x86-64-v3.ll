target triple = "x86_64-unknown-linux-gnu"

define void @fatload_kernel(ptr %w) #0 {
entry:
  %t1 = alloca i32
  %t2 = alloca i32
  %t3 = alloca i32
  %t5 = getelementptr i8, ptr %w, i64 0
  %t6 = load ptr, ptr %t5, align 8
  %t7 = ptrtoint ptr %t6 to i64
  %t11 = alloca i64
  %t15 = alloca i64
  %t19 = alloca i64
  %t23 = getelementptr i8, ptr %w, i64 40
  %t24 = load i32, ptr %t23, align 4
  %t25 = getelementptr i8, ptr %w, i64 64
  %t26 = load i32, ptr %t25, align 4
  %t27 = getelementptr i8, ptr %w, i64 68
  %t28 = load i32, ptr %t27, align 4
  %t29 = getelementptr i8, ptr %w, i64 76
  %t30 = load i32, ptr %t29, align 4
  %t31 = shl i32 %t30, 5
  %t32 = urem i32 %t31, %t26
  %t35 = alloca i32
  %t86 = alloca [512 x i8], align 64
  %t87 = alloca [512 x i8], align 64
  %t91 = alloca i32
  %t151 = getelementptr i8, ptr %w, i64 88
  %t155 = getelementptr i8, ptr %w, i64 84
  %t156 = load i32, ptr %t155, align 4
  store i32 %t156, ptr %t1
  store i32 0, ptr %t2
  store i32 0, ptr %t3
  br label %b0
b0:
  %t4 = load i32, ptr %t1
  store i32 0, ptr %t1
  %t8 = add i64 0, %t7
  %t9 = inttoptr i64 %t8 to ptr
  %t10 = load i64, ptr %t9, align 8
  store i64 %t10, ptr %t11
  %t12 = add i64 8, %t7
  %t13 = inttoptr i64 %t12 to ptr
  %t14 = load i64, ptr %t13, align 8
  store i64 %t14, ptr %t15
  %t16 = add i64 16, %t7
  %t17 = inttoptr i64 %t16 to ptr
  %t18 = load i64, ptr %t17, align 8
  store i64 %t18, ptr %t19
  %t20 = add i64 24, %t7
  %t21 = inttoptr i64 %t20 to ptr
  %t22 = load i32, ptr %t21, align 4
  %t33 = mul i32 %t24, %t26
  %t34 = add i32 %t33, %t32
  store i32 %t34, ptr %t35
  %t36 = insertelement <32 x i32> poison, i32 %t34, i32 0
  %t37 = shufflevector <32 x i32> %t36, <32 x i32> poison, <32 x i32> zeroinitializer
  %t38 = add <32 x i32> %t37, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %t39 = insertelement <32 x i32> poison, i32 %t22, i32 0
  %t40 = shufflevector <32 x i32> %t39, <32 x i32> poison, <32 x i32> zeroinitializer
  %t41 = icmp sge <32 x i32> %t38, %t40
  %t42 = freeze <32 x i1> %t41
  %t43 = bitcast <32 x i1> %t42 to i32
  %t44 = and i32 %t4, %t43
  %t45 = xor i32 %t43, -1
  %t46 = and i32 %t4, %t45
  %t47 = load i32, ptr %t3
  %t48 = or i32 %t47, %t44
  store i32 %t48, ptr %t3
  %t49 = load i32, ptr %t2
  %t50 = or i32 %t49, %t46
  store i32 %t50, ptr %t2
  %t51 = load i32, ptr %t2
  %t53 = icmp ne i32 %t51, 0
  br i1 %t53, label %b1, label %next52
next52:
  br label %b2
b1:
  %t54 = load i32, ptr %t2
  store i32 0, ptr %t2
  %t55 = load i64, ptr %t11
  %t56 = load i64, ptr %t15
  %t57 = load i64, ptr %t19
  %t58 = load i32, ptr %t35
  %t59 = insertelement <32 x i32> poison, i32 %t58, i32 0
  %t60 = shufflevector <32 x i32> %t59, <32 x i32> poison, <32 x i32> zeroinitializer
  %t61 = add <32 x i32> %t60, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %t62 = sext <32 x i32> %t61 to <32 x i64>
  %t63 = sext i32 %t58 to i64
  %t64 = icmp slt i64 %t63, 2147483617
  %t65 = mul i64 %t63, 4
  %t66 = mul <32 x i64> %t62, splat (i64 4)
  %t67 = add i64 %t55, %t65
  %t68 = insertelement <32 x i64> poison, i64 %t55, i32 0
  %t69 = shufflevector <32 x i64> %t68, <32 x i64> poison, <32 x i32> zeroinitializer
  %t70 = add <32 x i64> %t69, %t66
  %t71 = add i64 %t56, %t65
  %t72 = insertelement <32 x i64> poison, i64 %t56, i32 0
  %t73 = shufflevector <32 x i64> %t72, <32 x i64> poison, <32 x i32> zeroinitializer
  %t74 = add <32 x i64> %t73, %t66
  %t75 = add i64 %t57, %t65
  %t76 = insertelement <32 x i64> poison, i64 %t57, i32 0
  %t77 = shufflevector <32 x i64> %t76, <32 x i64> poison, <32 x i32> zeroinitializer
  %t78 = add <32 x i64> %t77, %t66
  %t82 = icmp eq i32 %t54, -1
  %t83 = and i1 %t82, %t64
  br i1 %t83, label %all79, label %some80
all79:
  %t84 = inttoptr i64 %t67 to ptr
  %t85 = load <32 x float>, ptr %t84, align 4
  br label %loaded81
some80:
  store <32 x i64> %t70, ptr %t86, align 32
  store i32 %t54, ptr %t91
  br label %lanes88
lanes88:
  %t92 = load i32, ptr %t91
  %t93 = icmp eq i32 %t92, 0
  br i1 %t93, label %lanes_done90, label %lane89
lane89:
  %t94 = call i32 @llvm.cttz.i32(i32 %t92, i1 true)
  %t95 = add i32 %t92, -1
  %t96 = and i32 %t92, %t95
  store i32 %t96, ptr %t91
  %t97 = getelementptr i64, ptr %t86, i32 %t94
  %t98 = load i64, ptr %t97
  %t99 = inttoptr i64 %t98 to ptr
  %t100 = load float, ptr %t99, align 4
  %t101 = getelementptr float, ptr %t87, i32 %t94
  store float %t100, ptr %t101
  br label %lanes88
lanes_done90:
  %t102 = load <32 x float>, ptr %t87, align 32
  br label %some_done103
some_done103:
  br label %loaded81
loaded81:
  %t104 = phi <32 x float> [ %t85, %all79 ], [ %t102, %some_done103 ]
  %t108 = icmp eq i32 %t54, -1
  %t109 = and i1 %t108, %t64
  br i1 %t109, label %all105, label %some106
all105:
  %t110 = inttoptr i64 %t71 to ptr
  %t111 = load <32 x float>, ptr %t110, align 4
  br label %loaded107
some106:
  store <32 x i64> %t74, ptr %t86, align 32
  store i32 %t54, ptr %t91
  br label %lanes112
lanes112:
  %t115 = load i32, ptr %t91
  %t116 = icmp eq i32 %t115, 0
  br i1 %t116, label %lanes_done114, label %lane113
lane113:
  %t117 = call i32 @llvm.cttz.i32(i32 %t115, i1 true)
  %t118 = add i32 %t115, -1
  %t119 = and i32 %t115, %t118
  store i32 %t119, ptr %t91
  %t120 = getelementptr i64, ptr %t86, i32 %t117
  %t121 = load i64, ptr %t120
  %t122 = inttoptr i64 %t121 to ptr
  %t123 = load float, ptr %t122, align 4
  %t124 = getelementptr float, ptr %t87, i32 %t117
  store float %t123, ptr %t124
  br label %lanes112
lanes_done114:
  %t125 = load <32 x float>, ptr %t87, align 32
  br label %some_done126
some_done126:
  br label %loaded107
loaded107:
  %t127 = phi <32 x float> [ %t111, %all105 ], [ %t125, %some_done126 ]
  %t128 = fadd <32 x float> %t104, %t127
  %t132 = icmp eq i32 %t54, -1
  %t133 = and i1 %t132, %t64
  br i1 %t133, label %all129, label %some130
all129:
  %t134 = inttoptr i64 %t75 to ptr
  store <32 x float> %t128, ptr %t134, align 4
  br label %stored131
some130:
  store <32 x i64> %t78, ptr %t86, align 32
  store <32 x float> %t128, ptr %t87, align 32
  store i32 %t54, ptr %t91
  br label %lanes135
lanes135:
  %t138 = load i32, ptr %t91
  %t139 = icmp eq i32 %t138, 0
  br i1 %t139, label %lanes_done137, label %lane136
lane136:
  %t140 = call i32 @llvm.cttz.i32(i32 %t138, i1 true)
  %t141 = add i32 %t138, -1
  %t142 = and i32 %t138, %t141
  store i32 %t142, ptr %t91
  %t143 = getelementptr i64, ptr %t86, i32 %t140
  %t144 = load i64, ptr %t143
  %t145 = getelementptr float, ptr %t87, i32 %t140
  %t146 = load float, ptr %t145
  %t147 = inttoptr i64 %t144 to ptr
  store float %t146, ptr %t147, align 4
  br label %lanes135
lanes_done137:
  br label %stored131
stored131:
  %t148 = load i32, ptr %t3
  %t149 = or i32 %t148, %t54
  store i32 %t149, ptr %t3
  br label %b2
b2:
  %t150 = load i32, ptr %t3
  store i32 0, ptr %t3
  %t152 = load i32, ptr %t151, align 4
  %t153 = xor i32 %t150, -1
  %t154 = and i32 %t152, %t153
  store i32 %t154, ptr %t151, align 4
  ret void
}

declare i32 @llvm.cttz.i32(i32, i1)

attributes #0 = { nounwind "frame-pointer"="none" }
