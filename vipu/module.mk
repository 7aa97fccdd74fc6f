# SPDX-License-Identifier: Apache-2.0
LIBS += vipu vipu_proto vipu_simulator
LIB_vipu_SRCS := $(wildcard vipu/*.cc vipu/local/*.cc)
LIB_vipu_DEPS := base

# The V-IPU protocol. gRPC is for ipu-vipu-client and vipu-simulator only.
LIB_vipu_proto_PROTOS := $(addprefix $(GEN)/vipu/proto/virm,.pb.h .grpc.pb.h)
LIB_vipu_proto_SRCS := $(addprefix $(GEN)/vipu/proto/virm,.pb.cc .grpc.pb.cc)
LIB_vipu_proto_PKGS := grpc++ protobuf
# Not to be deleted as a step in between: what was compiled can be read.
.SECONDARY: $(LIB_vipu_proto_SRCS)

# What a V-IPU controller decides, without gRPC.
LIB_vipu_simulator_SRCS := $(wildcard vipu/simulator/*.cc)
LIB_vipu_simulator_DEPS := vipu
