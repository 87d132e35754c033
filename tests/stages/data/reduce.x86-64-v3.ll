target triple = "x86_64-unknown-linux-gnu"

define void @fatload_kernel(ptr %w) #0 {
entry:
  %t1 = alloca i32
  %t2 = alloca i32
  %t3 = alloca i32
  %t4 = alloca i32
  %t5 = alloca i32
  %t6 = alloca i32
  %t7 = alloca i32
  %t8 = alloca <32 x i32>
  %t9 = alloca i32
  %t10 = alloca <32 x i32>
  %t11 = alloca <32 x i32>
  %t13 = getelementptr i8, ptr %w, i64 0
  %t14 = load ptr, ptr %t13, align 8
  %t15 = ptrtoint ptr %t14 to i64
  %t19 = getelementptr i8, ptr %w, i64 64
  %t20 = load i32, ptr %t19, align 4
  %t21 = getelementptr i8, ptr %w, i64 68
  %t22 = load i32, ptr %t21, align 4
  %t23 = getelementptr i8, ptr %w, i64 76
  %t24 = load i32, ptr %t23, align 4
  %t25 = shl i32 %t24, 5
  %t26 = urem i32 %t25, %t20
  %t27 = alloca i32
  %t28 = getelementptr i8, ptr %w, i64 40
  %t29 = load i32, ptr %t28, align 4
  %t30 = alloca i32
  %t52 = alloca [512 x i8], align 64
  %t53 = alloca [512 x i8], align 64
  %t57 = alloca i32
  %t71 = alloca <32 x i32>
  %t74 = alloca i32
  %t83 = getelementptr i8, ptr %w, i64 8
  %t84 = load ptr, ptr %t83, align 8
  %t85 = ptrtoint ptr %t84 to i64
  %t102 = alloca i32
  %t104 = getelementptr i8, ptr %w, i64 32
  %t105 = load ptr, ptr %t104, align 8
  %t106 = getelementptr i8, ptr %t105, i64 0
  %t107 = load ptr, ptr %t106, align 8
  %t187 = alloca <32 x i32>
  %t215 = alloca i32
  %t252 = getelementptr i8, ptr %w, i64 88
  %t263 = getelementptr i8, ptr %w, i64 84
  %t264 = load i32, ptr %t263, align 4
  store i32 %t264, ptr %t1
  store i32 0, ptr %t2
  store i32 0, ptr %t3
  store i32 0, ptr %t4
  store i32 0, ptr %t5
  store i32 0, ptr %t6
  store i32 0, ptr %t7
  br label %b0
b0:
  %t12 = load i32, ptr %t1
  store i32 0, ptr %t1
  %t16 = add i64 0, %t15
  %t17 = inttoptr i64 %t16 to ptr
  %t18 = load i64, ptr %t17, align 8
  store i32 %t26, ptr %t27
  store i32 %t29, ptr %t30
  %t31 = mul i32 %t29, 256
  %t32 = add i32 %t31, %t26
  %t33 = insertelement <32 x i32> poison, i32 %t32, i32 0
  %t34 = shufflevector <32 x i32> %t33, <32 x i32> poison, <32 x i32> zeroinitializer
  %t35 = add <32 x i32> %t34, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %t36 = zext <32 x i32> %t35 to <32 x i64>
  %t37 = zext i32 %t32 to i64
  %t38 = icmp slt i64 %t37, 4294967265
  %t39 = mul i64 %t37, 4
  %t40 = mul <32 x i64> %t36, splat (i64 4)
  %t41 = add i64 %t18, %t39
  %t42 = insertelement <32 x i64> poison, i64 %t18, i32 0
  %t43 = shufflevector <32 x i64> %t42, <32 x i64> poison, <32 x i32> zeroinitializer
  %t44 = add <32 x i64> %t43, %t40
  %t48 = icmp eq i32 %t12, -1
  %t49 = and i1 %t48, %t38
  br i1 %t49, label %all45, label %some46
all45:
  %t50 = inttoptr i64 %t41 to ptr
  %t51 = load <32 x i32>, ptr %t50, align 4
  br label %loaded47
some46:
  store <32 x i64> %t44, ptr %t52, align 32
  store i32 %t12, ptr %t57
  br label %lanes54
lanes54:
  %t58 = load i32, ptr %t57
  %t59 = icmp eq i32 %t58, 0
  br i1 %t59, label %lanes_done56, label %lane55
lane55:
  %t60 = call i32 @llvm.cttz.i32(i32 %t58, i1 true)
  %t61 = add i32 %t58, -1
  %t62 = and i32 %t58, %t61
  store i32 %t62, ptr %t57
  %t63 = getelementptr i64, ptr %t52, i32 %t60
  %t64 = load i64, ptr %t63
  %t65 = inttoptr i64 %t64 to ptr
  %t66 = load i32, ptr %t65, align 4
  %t67 = getelementptr i32, ptr %t53, i32 %t60
  store i32 %t66, ptr %t67
  br label %lanes54
lanes_done56:
  %t68 = load <32 x i32>, ptr %t53, align 32
  br label %some_done69
some_done69:
  br label %loaded47
loaded47:
  %t70 = phi <32 x i32> [ %t51, %all45 ], [ %t68, %some_done69 ]
  store <32 x i32> %t70, ptr %t71
  %t72 = mul i32 %t26, 4
  %t73 = add i32 0, %t72
  store i32 %t73, ptr %t74
  %t75 = insertelement <32 x i32> poison, i32 %t73, i32 0
  %t76 = shufflevector <32 x i32> %t75, <32 x i32> poison, <32 x i32> zeroinitializer
  %t77 = add <32 x i32> %t76, <i32 0, i32 4, i32 8, i32 12, i32 16, i32 20, i32 24, i32 28, i32 32, i32 36, i32 40, i32 44, i32 48, i32 52, i32 56, i32 60, i32 64, i32 68, i32 72, i32 76, i32 80, i32 84, i32 88, i32 92, i32 96, i32 100, i32 104, i32 108, i32 112, i32 116, i32 120, i32 124>
  %t78 = zext <32 x i32> %t77 to <32 x i64>
  %t79 = zext i32 %t73 to i64
  %t80 = icmp slt i64 %t79, 4294967172
  %t81 = trunc <32 x i64> %t78 to <32 x i32>
  %t82 = zext <32 x i32> %t81 to <32 x i64>
  %t86 = insertelement <32 x i64> poison, i64 %t85, i32 0
  %t87 = shufflevector <32 x i64> %t86, <32 x i64> poison, <32 x i32> zeroinitializer
  %t88 = add <32 x i64> %t82, %t87
  store <32 x i64> %t88, ptr %t52, align 32
  store <32 x i32> %t70, ptr %t53, align 32
  store i32 %t12, ptr %t57
  br label %lanes89
lanes89:
  %t92 = load i32, ptr %t57
  %t93 = icmp eq i32 %t92, 0
  br i1 %t93, label %lanes_done91, label %lane90
lane90:
  %t94 = call i32 @llvm.cttz.i32(i32 %t92, i1 true)
  %t95 = add i32 %t92, -1
  %t96 = and i32 %t92, %t95
  store i32 %t96, ptr %t57
  %t97 = getelementptr i64, ptr %t52, i32 %t94
  %t98 = load i64, ptr %t97
  %t99 = getelementptr i32, ptr %t53, i32 %t94
  %t100 = load i32, ptr %t99
  %t101 = inttoptr i64 %t98 to ptr
  store i32 %t100, ptr %t101, align 4
  br label %lanes89
lanes_done91:
  store i32 128, ptr %t102
  store i32 %t12, ptr %t2
  store <32 x i32> %t70, ptr %t8
  store i32 128, ptr %t9
  br label %b1
b1:
  %t103 = load i32, ptr %t2
  store i32 0, ptr %t2
  %t108 = call i32 %t107(ptr %w, i32 0, i32 0, i32 %t103, i32 0, i32 0)
  %t109 = load i32, ptr %t27
  %t110 = load i32, ptr %t9
  %t111 = insertelement <32 x i32> poison, i32 %t109, i32 0
  %t112 = shufflevector <32 x i32> %t111, <32 x i32> poison, <32 x i32> zeroinitializer
  %t113 = add <32 x i32> %t112, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %t114 = insertelement <32 x i32> poison, i32 %t110, i32 0
  %t115 = shufflevector <32 x i32> %t114, <32 x i32> poison, <32 x i32> zeroinitializer
  %t116 = icmp uge <32 x i32> %t113, %t115
  %t117 = freeze <32 x i1> %t116
  %t118 = bitcast <32 x i1> %t117 to i32
  %t119 = and i32 %t103, %t118
  %t120 = xor i32 %t118, -1
  %t121 = and i32 %t103, %t120
  %t122 = load i32, ptr %t4
  %t123 = or i32 %t122, %t119
  store i32 %t123, ptr %t4
  %t124 = load <32 x i32>, ptr %t8
  %t125 = bitcast i32 %t119 to <32 x i1>
  %t126 = load <32 x i32>, ptr %t10
  %t127 = select <32 x i1> %t125, <32 x i32> %t124, <32 x i32> %t126
  store <32 x i32> %t127, ptr %t10
  %t128 = load i32, ptr %t3
  %t129 = or i32 %t128, %t121
  store i32 %t129, ptr %t3
  %t130 = load i32, ptr %t3
  %t132 = icmp ne i32 %t130, 0
  br i1 %t132, label %b2, label %next131
next131:
  br label %b3
b2:
  %t133 = load i32, ptr %t3
  store i32 0, ptr %t3
  %t134 = load i32, ptr %t9
  %t135 = shl i32 %t134, 2
  %t136 = load i32, ptr %t74
  %t137 = add i32 %t136, %t135
  %t138 = insertelement <32 x i32> poison, i32 %t137, i32 0
  %t139 = shufflevector <32 x i32> %t138, <32 x i32> poison, <32 x i32> zeroinitializer
  %t140 = add <32 x i32> %t139, <i32 0, i32 4, i32 8, i32 12, i32 16, i32 20, i32 24, i32 28, i32 32, i32 36, i32 40, i32 44, i32 48, i32 52, i32 56, i32 60, i32 64, i32 68, i32 72, i32 76, i32 80, i32 84, i32 88, i32 92, i32 96, i32 100, i32 104, i32 108, i32 112, i32 116, i32 120, i32 124>
  %t141 = zext <32 x i32> %t140 to <32 x i64>
  %t142 = zext i32 %t137 to i64
  %t143 = icmp slt i64 %t142, 4294967172
  %t144 = trunc <32 x i64> %t141 to <32 x i32>
  %t145 = zext <32 x i32> %t144 to <32 x i64>
  %t146 = insertelement <32 x i64> poison, i64 %t85, i32 0
  %t147 = shufflevector <32 x i64> %t146, <32 x i64> poison, <32 x i32> zeroinitializer
  %t148 = add <32 x i64> %t145, %t147
  store <32 x i64> %t148, ptr %t52, align 32
  store i32 %t133, ptr %t57
  br label %lanes149
lanes149:
  %t152 = load i32, ptr %t57
  %t153 = icmp eq i32 %t152, 0
  br i1 %t153, label %lanes_done151, label %lane150
lane150:
  %t154 = call i32 @llvm.cttz.i32(i32 %t152, i1 true)
  %t155 = add i32 %t152, -1
  %t156 = and i32 %t152, %t155
  store i32 %t156, ptr %t57
  %t157 = getelementptr i64, ptr %t52, i32 %t154
  %t158 = load i64, ptr %t157
  %t159 = inttoptr i64 %t158 to ptr
  %t160 = load i32, ptr %t159, align 4
  %t161 = getelementptr i32, ptr %t53, i32 %t154
  store i32 %t160, ptr %t161
  br label %lanes149
lanes_done151:
  %t162 = load <32 x i32>, ptr %t53, align 32
  %t163 = insertelement <32 x i32> poison, i32 %t136, i32 0
  %t164 = shufflevector <32 x i32> %t163, <32 x i32> poison, <32 x i32> zeroinitializer
  %t165 = add <32 x i32> %t164, <i32 0, i32 4, i32 8, i32 12, i32 16, i32 20, i32 24, i32 28, i32 32, i32 36, i32 40, i32 44, i32 48, i32 52, i32 56, i32 60, i32 64, i32 68, i32 72, i32 76, i32 80, i32 84, i32 88, i32 92, i32 96, i32 100, i32 104, i32 108, i32 112, i32 116, i32 120, i32 124>
  %t166 = zext <32 x i32> %t165 to <32 x i64>
  %t167 = zext i32 %t136 to i64
  %t168 = icmp slt i64 %t167, 4294967172
  %t169 = trunc <32 x i64> %t166 to <32 x i32>
  %t170 = zext <32 x i32> %t169 to <32 x i64>
  %t171 = add <32 x i64> %t170, %t147
  store <32 x i64> %t171, ptr %t52, align 32
  store i32 %t133, ptr %t57
  br label %lanes172
lanes172:
  %t175 = load i32, ptr %t57
  %t176 = icmp eq i32 %t175, 0
  br i1 %t176, label %lanes_done174, label %lane173
lane173:
  %t177 = call i32 @llvm.cttz.i32(i32 %t175, i1 true)
  %t178 = add i32 %t175, -1
  %t179 = and i32 %t175, %t178
  store i32 %t179, ptr %t57
  %t180 = getelementptr i64, ptr %t52, i32 %t177
  %t181 = load i64, ptr %t180
  %t182 = inttoptr i64 %t181 to ptr
  %t183 = load i32, ptr %t182, align 4
  %t184 = getelementptr i32, ptr %t53, i32 %t177
  store i32 %t183, ptr %t184
  br label %lanes172
lanes_done174:
  %t185 = load <32 x i32>, ptr %t53, align 32
  %t186 = add <32 x i32> %t185, %t162
  store <32 x i32> %t186, ptr %t187
  %t188 = zext <32 x i32> %t165 to <32 x i64>
  %t189 = zext i32 %t136 to i64
  %t190 = icmp slt i64 %t189, 4294967172
  %t191 = trunc <32 x i64> %t188 to <32 x i32>
  %t192 = zext <32 x i32> %t191 to <32 x i64>
  %t193 = add <32 x i64> %t192, %t147
  store <32 x i64> %t193, ptr %t52, align 32
  store <32 x i32> %t186, ptr %t53, align 32
  store i32 %t133, ptr %t57
  br label %lanes194
lanes194:
  %t197 = load i32, ptr %t57
  %t198 = icmp eq i32 %t197, 0
  br i1 %t198, label %lanes_done196, label %lane195
lane195:
  %t199 = call i32 @llvm.cttz.i32(i32 %t197, i1 true)
  %t200 = add i32 %t197, -1
  %t201 = and i32 %t197, %t200
  store i32 %t201, ptr %t57
  %t202 = getelementptr i64, ptr %t52, i32 %t199
  %t203 = load i64, ptr %t202
  %t204 = getelementptr i32, ptr %t53, i32 %t199
  %t205 = load i32, ptr %t204
  %t206 = inttoptr i64 %t203 to ptr
  store i32 %t205, ptr %t206, align 4
  br label %lanes194
lanes_done196:
  %t207 = load i32, ptr %t4
  %t208 = or i32 %t207, %t133
  store i32 %t208, ptr %t4
  %t209 = bitcast i32 %t133 to <32 x i1>
  %t210 = load <32 x i32>, ptr %t10
  %t211 = select <32 x i1> %t209, <32 x i32> %t186, <32 x i32> %t210
  store <32 x i32> %t211, ptr %t10
  br label %b3
b3:
  %t212 = load i32, ptr %t4
  store i32 0, ptr %t4
  %t213 = load i32, ptr %t9
  %t214 = lshr i32 %t213, 1
  store i32 %t214, ptr %t215
  %t216 = icmp ne i32 %t214, 0
  br i1 %t216, label %yes217, label %no218
yes217:
  store i32 %t212, ptr %t2
  %t219 = load <32 x i32>, ptr %t10
  store <32 x i32> %t219, ptr %t8
  store i32 %t214, ptr %t9
  br label %b1
no218:
  store i32 %t212, ptr %t5
  %t220 = load <32 x i32>, ptr %t10
  store <32 x i32> %t220, ptr %t11
  br label %b4
b4:
  %t221 = load i32, ptr %t5
  store i32 0, ptr %t5
  %t222 = load i32, ptr %t27
  %t223 = insertelement <32 x i32> poison, i32 %t222, i32 0
  %t224 = shufflevector <32 x i32> %t223, <32 x i32> poison, <32 x i32> zeroinitializer
  %t225 = add <32 x i32> %t224, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %t226 = icmp ne <32 x i32> %t225, splat (i32 0)
  %t227 = freeze <32 x i1> %t226
  %t228 = bitcast <32 x i1> %t227 to i32
  %t229 = and i32 %t221, %t228
  %t230 = xor i32 %t228, -1
  %t231 = and i32 %t221, %t230
  %t232 = load i32, ptr %t7
  %t233 = or i32 %t232, %t229
  store i32 %t233, ptr %t7
  %t234 = load i32, ptr %t6
  %t235 = or i32 %t234, %t231
  store i32 %t235, ptr %t6
  %t236 = load i32, ptr %t6
  %t238 = icmp ne i32 %t236, 0
  br i1 %t238, label %b6, label %next237
next237:
  br label %b5
b6:
  %t239 = load i32, ptr %t6
  store i32 0, ptr %t6
  %t240 = add i64 8, %t15
  %t241 = inttoptr i64 %t240 to ptr
  %t242 = load i64, ptr %t241, align 8
  %t243 = load i32, ptr %t30
  %t244 = zext i32 %t243 to i64
  %t245 = mul i64 %t244, 4
  %t246 = add i64 %t242, %t245
  %t247 = load <32 x i32>, ptr %t11
  %t248 = call i32 @llvm.ctlz.i32(i32 %t239, i1 true)
  %t249 = sub i32 31, %t248
  %t250 = extractelement <32 x i32> %t247, i32 %t249
  %t251 = inttoptr i64 %t246 to ptr
  store i32 %t250, ptr %t251, align 4
  %t253 = load i32, ptr %t252, align 4
  %t254 = xor i32 %t239, -1
  %t255 = and i32 %t253, %t254
  store i32 %t255, ptr %t252, align 4
  %t256 = load i32, ptr %t7
  %t258 = icmp ne i32 %t256, 0
  br i1 %t258, label %b5, label %next257
next257:
  ret void
b5:
  %t259 = load i32, ptr %t7
  store i32 0, ptr %t7
  %t260 = load i32, ptr %t252, align 4
  %t261 = xor i32 %t259, -1
  %t262 = and i32 %t260, %t261
  store i32 %t262, ptr %t252, align 4
  ret void
}

declare i32 @llvm.ctlz.i32(i32, i1)
declare i32 @llvm.cttz.i32(i32, i1)

attributes #0 = { nounwind "frame-pointer"="none" }
