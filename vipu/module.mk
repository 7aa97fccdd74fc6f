# SPDX-License-Identifier: Apache-2.0
# The V-IPU protocol. Only ipu-vipu-client and vipu-simulator link gRPC.
LIB_vipu-proto_PROTOS := $(addprefix $(GEN)/vipu/proto/virm,.pb.h .grpc.pb.h)
LIB_vipu-proto_SRCS := $(addprefix $(GEN)/vipu/proto/virm,.pb.cc .grpc.pb.cc)
LIB_vipu-proto_PKGS := grpc++ protobuf
# Keeps make from deleting the generated sources as intermediate files, so that you can read them.
.SECONDARY: $(LIB_vipu-proto_SRCS)
