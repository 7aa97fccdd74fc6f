# SPDX-License-Identifier: Apache-2.0
# The V-IPU protocol. gRPC is for ipu-vipu-client and vipu-simulator only.
LIB_vipu-proto_PROTOS := $(addprefix $(GEN)/vipu/proto/virm,.pb.h .grpc.pb.h)
LIB_vipu-proto_SRCS := $(addprefix $(GEN)/vipu/proto/virm,.pb.cc .grpc.pb.cc)
LIB_vipu-proto_PKGS := grpc++ protobuf
# Not to be deleted as a step in between: what was compiled can be read.
.SECONDARY: $(LIB_vipu-proto_SRCS)
