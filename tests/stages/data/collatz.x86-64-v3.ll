target triple = "x86_64-unknown-linux-gnu"

define void @fatload_kernel(ptr %w) #0 {
entry:
  %t1 = alloca i32
  %t2 = alloca i32
  %t3 = alloca i32
  %t4 = alloca i32
  %t5 = alloca <32 x i32>
  %t6 = alloca i32
  %t7 = alloca <32 x i32>
  %t9 = getelementptr i8, ptr %w, i64 0
  %t10 = load ptr, ptr %t9, align 8
  %t11 = ptrtoint ptr %t10 to i64
  %t15 = getelementptr i8, ptr %w, i64 64
  %t16 = load i32, ptr %t15, align 4
  %t17 = getelementptr i8, ptr %w, i64 68
  %t18 = load i32, ptr %t17, align 4
  %t19 = getelementptr i8, ptr %w, i64 76
  %t20 = load i32, ptr %t19, align 4
  %t21 = shl i32 %t20, 5
  %t22 = urem i32 %t21, %t16
  %t35 = alloca i64
  %t36 = alloca i1
  %t37 = alloca <32 x i64>
  %t45 = alloca [512 x i8], align 64
  %t46 = alloca [512 x i8], align 64
  %t50 = alloca i32
  %t64 = alloca <32 x i32>
  %t65 = alloca i32
  %t89 = alloca [128 x i8], align 64
  %t90 = alloca [256 x i8], align 64
  %t93 = alloca [128 x i8], align 64
  %t95 = alloca <32 x i32>
  %t98 = alloca i32
  %t123 = getelementptr i8, ptr %w, i64 88
  %t127 = getelementptr i8, ptr %w, i64 84
  %t128 = load i32, ptr %t127, align 4
  %top = getelementptr i8, ptr %w, i64 128
  store i32 0, ptr %top
  store i32 %t128, ptr %t1
  store i32 0, ptr %t2
  store i32 0, ptr %t3
  store i32 0, ptr %t4
  br label %b0
b0:
  %t8 = load i32, ptr %t1
  store i32 0, ptr %t1
  %t12 = add i64 0, %t11
  %t13 = inttoptr i64 %t12 to ptr
  %t14 = load i64, ptr %t13, align 8
  %t23 = insertelement <32 x i32> poison, i32 %t22, i32 0
  %t24 = shufflevector <32 x i32> %t23, <32 x i32> poison, <32 x i32> zeroinitializer
  %t25 = add <32 x i32> %t24, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %t26 = zext <32 x i32> %t25 to <32 x i64>
  %t27 = zext i32 %t22 to i64
  %t28 = icmp slt i64 %t27, 4294967265
  %t29 = mul i64 %t27, 4
  %t30 = mul <32 x i64> %t26, splat (i64 4)
  %t31 = add i64 %t14, %t29
  %t32 = insertelement <32 x i64> poison, i64 %t14, i32 0
  %t33 = shufflevector <32 x i64> %t32, <32 x i64> poison, <32 x i32> zeroinitializer
  %t34 = add <32 x i64> %t33, %t30
  store i64 %t31, ptr %t35
  store i1 %t28, ptr %t36
  store <32 x i64> %t34, ptr %t37
  %t41 = icmp eq i32 %t8, -1
  %t42 = and i1 %t41, %t28
  br i1 %t42, label %all38, label %some39
all38:
  %t43 = inttoptr i64 %t31 to ptr
  %t44 = load <32 x i32>, ptr %t43, align 4
  br label %loaded40
some39:
  store <32 x i64> %t34, ptr %t45, align 32
  store i32 %t8, ptr %t50
  br label %lanes47
lanes47:
  %t51 = load i32, ptr %t50
  %t52 = icmp eq i32 %t51, 0
  br i1 %t52, label %lanes_done49, label %lane48
lane48:
  %t53 = call i32 @llvm.cttz.i32(i32 %t51, i1 true)
  %t54 = add i32 %t51, -1
  %t55 = and i32 %t51, %t54
  store i32 %t55, ptr %t50
  %t56 = getelementptr i64, ptr %t45, i32 %t53
  %t57 = load i64, ptr %t56
  %t58 = inttoptr i64 %t57 to ptr
  %t59 = load i32, ptr %t58, align 4
  %t60 = getelementptr i32, ptr %t46, i32 %t53
  store i32 %t59, ptr %t60
  br label %lanes47
lanes_done49:
  %t61 = load <32 x i32>, ptr %t46, align 32
  br label %some_done62
some_done62:
  br label %loaded40
loaded40:
  %t63 = phi <32 x i32> [ %t44, %all38 ], [ %t61, %some_done62 ]
  store <32 x i32> %t63, ptr %t64
  store i32 0, ptr %t65
  store i32 %t8, ptr %t2
  store <32 x i32> %t63, ptr %t5
  store i32 0, ptr %t6
  br label %b1
b1:
  %t66 = load i32, ptr %t2
  store i32 0, ptr %t2
  %t67 = load <32 x i32>, ptr %t5
  %t68 = icmp ule <32 x i32> %t67, splat (i32 1)
  %t69 = freeze <32 x i1> %t68
  %t70 = bitcast <32 x i1> %t69 to i32
  %t71 = and i32 %t66, %t70
  %t72 = xor i32 %t70, -1
  %t73 = and i32 %t66, %t72
  %t74 = load i32, ptr %t4
  %t75 = or i32 %t74, %t71
  store i32 %t75, ptr %t4
  %t76 = load i32, ptr %t6
  %t77 = insertelement <32 x i32> poison, i32 %t76, i32 0
  %t78 = shufflevector <32 x i32> %t77, <32 x i32> poison, <32 x i32> zeroinitializer
  %t79 = bitcast i32 %t71 to <32 x i1>
  %t80 = load <32 x i32>, ptr %t7
  %t81 = select <32 x i1> %t79, <32 x i32> %t78, <32 x i32> %t80
  store <32 x i32> %t81, ptr %t7
  %t82 = load i32, ptr %t3
  %t83 = or i32 %t82, %t73
  store i32 %t83, ptr %t3
  %t84 = load i32, ptr %t3
  %t86 = icmp ne i32 %t84, 0
  br i1 %t86, label %b2, label %next85
next85:
  br label %b3
b2:
  %t87 = load i32, ptr %t3
  store i32 0, ptr %t3
  %t88 = load <32 x i32>, ptr %t5
  store <32 x i32> %t88, ptr %t89, align 32
  %t91 = getelementptr i8, ptr %t90, i64 0
  call void @llvm.memcpy.p0.p0.i64(ptr align 64 %t91, ptr align 64 %t89, i64 128, i1 false)
  call void @"f.step"(ptr %w, i32 %t87, ptr %t90)
  %t92 = getelementptr i8, ptr %t90, i64 128
  call void @llvm.memcpy.p0.p0.i64(ptr align 64 %t93, ptr align 64 %t92, i64 128, i1 false)
  %t94 = load <32 x i32>, ptr %t93, align 32
  store <32 x i32> %t94, ptr %t95
  %t96 = load i32, ptr %t6
  %t97 = add i32 %t96, 1
  store i32 %t97, ptr %t98
  store i32 %t87, ptr %t2
  store <32 x i32> %t94, ptr %t5
  store i32 %t97, ptr %t6
  br label %b1
b3:
  %t99 = load i32, ptr %t4
  store i32 0, ptr %t4
  %t100 = load i64, ptr %t35
  %t101 = load i1, ptr %t36
  %t102 = load <32 x i64>, ptr %t37
  %t103 = load <32 x i32>, ptr %t7
  %t107 = icmp eq i32 %t99, -1
  %t108 = and i1 %t107, %t101
  br i1 %t108, label %all104, label %some105
all104:
  %t109 = inttoptr i64 %t100 to ptr
  store <32 x i32> %t103, ptr %t109, align 4
  br label %stored106
some105:
  store <32 x i64> %t102, ptr %t45, align 32
  store <32 x i32> %t103, ptr %t46, align 32
  store i32 %t99, ptr %t50
  br label %lanes110
lanes110:
  %t113 = load i32, ptr %t50
  %t114 = icmp eq i32 %t113, 0
  br i1 %t114, label %lanes_done112, label %lane111
lane111:
  %t115 = call i32 @llvm.cttz.i32(i32 %t113, i1 true)
  %t116 = add i32 %t113, -1
  %t117 = and i32 %t113, %t116
  store i32 %t117, ptr %t50
  %t118 = getelementptr i64, ptr %t45, i32 %t115
  %t119 = load i64, ptr %t118
  %t120 = getelementptr i32, ptr %t46, i32 %t115
  %t121 = load i32, ptr %t120
  %t122 = inttoptr i64 %t119 to ptr
  store i32 %t121, ptr %t122, align 4
  br label %lanes110
lanes_done112:
  br label %stored106
stored106:
  %t124 = load i32, ptr %t123, align 4
  %t125 = xor i32 %t99, -1
  %t126 = and i32 %t124, %t125
  store i32 %t126, ptr %t123, align 4
  ret void
}

define internal void @"f.step"(ptr %w, i32 %mask, ptr %args) #0 {
entry:
  %top = getelementptr i8, ptr %w, i64 128
  %frame = load i32, ptr %top
  %frame64 = zext i32 %frame to i64
  %t1 = alloca i32
  %t2 = alloca i32
  %t3 = alloca i32
  %t4 = alloca <32 x i32>
  %t8 = alloca <32 x i32>
  %t12 = alloca <32 x i32>
  %t32 = alloca <32 x i32>
  store i32 %mask, ptr %t1
  store i32 0, ptr %t2
  store i32 0, ptr %t3
  br label %b0
b0:
  %t5 = load i32, ptr %t1
  store i32 0, ptr %t1
  %t6 = getelementptr i8, ptr %args, i64 0
  %t7 = load <32 x i32>, ptr %t6, align 32
  store <32 x i32> %t7, ptr %t8
  %t9 = and <32 x i32> %t7, splat (i32 1)
  %t10 = icmp eq <32 x i32> %t9, splat (i32 0)
  %t11 = lshr <32 x i32> %t7, splat (i32 1)
  store <32 x i32> %t11, ptr %t12
  %t13 = freeze <32 x i1> %t10
  %t14 = bitcast <32 x i1> %t13 to i32
  %t15 = and i32 %t5, %t14
  %t16 = xor i32 %t14, -1
  %t17 = and i32 %t5, %t16
  %t18 = load i32, ptr %t3
  %t19 = or i32 %t18, %t15
  store i32 %t19, ptr %t3
  %t20 = bitcast i32 %t15 to <32 x i1>
  %t21 = load <32 x i32>, ptr %t4
  %t22 = select <32 x i1> %t20, <32 x i32> %t11, <32 x i32> %t21
  store <32 x i32> %t22, ptr %t4
  %t23 = load i32, ptr %t2
  %t24 = or i32 %t23, %t17
  store i32 %t24, ptr %t2
  %t25 = load i32, ptr %t2
  %t27 = icmp ne i32 %t25, 0
  br i1 %t27, label %b1, label %next26
next26:
  br label %b2
b1:
  %t28 = load i32, ptr %t2
  store i32 0, ptr %t2
  %t29 = load <32 x i32>, ptr %t8
  %t30 = mul <32 x i32> %t29, splat (i32 3)
  %t31 = add <32 x i32> %t30, splat (i32 1)
  store <32 x i32> %t31, ptr %t32
  %t33 = load i32, ptr %t3
  %t34 = or i32 %t33, %t28
  store i32 %t34, ptr %t3
  %t35 = bitcast i32 %t28 to <32 x i1>
  %t36 = load <32 x i32>, ptr %t4
  %t37 = select <32 x i1> %t35, <32 x i32> %t31, <32 x i32> %t36
  store <32 x i32> %t37, ptr %t4
  br label %b2
b2:
  %t38 = load i32, ptr %t3
  store i32 0, ptr %t3
  %t39 = load <32 x i32>, ptr %t4
  %t40 = getelementptr i8, ptr %args, i64 128
  %t41 = load <32 x i32>, ptr %t40, align 32
  %t42 = bitcast i32 %t38 to <32 x i1>
  %t43 = select <32 x i1> %t42, <32 x i32> %t39, <32 x i32> %t41
  store <32 x i32> %t43, ptr %t40, align 32
  store i32 %frame, ptr %top
  ret void
}

declare i32 @llvm.cttz.i32(i32, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

attributes #0 = { nounwind "frame-pointer"="none" }
