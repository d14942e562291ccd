"""Writes the node tests of the onnx package as folders, CASE/model.onnx and CASE/test_data_set_0/*.pb.

The package builds these tests in memory. Its own command `backend-test-tools generate-data` knows how to write cases,
but collects only the model tests; here it is given the node tests to write.

    python generate.py FOLDER      # the cases lie in FOLDER/node
"""

import argparse
import sys

import numpy
import onnx.backend.test.case.node as node_cases
import onnx.backend.test.cmd_tools as cmd_tools


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    arguments = parser.parse_args()
    numpy.random.seed(0)  # some cases draw their inputs
    cmd_tools.model_test = node_cases
    cmd_tools.generate_data(argparse.Namespace(output=arguments.folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
