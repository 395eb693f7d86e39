'use strict';
const { exclusively } = require('./exclusive.cjs');
const { machineNode, privateNode } = require('./node.cjs');
const { dependencies } = require('./dependencies.cjs');
const { build } = require('./build.cjs');

/** Node, then the packages, then the compiled code: each is made only when it is not there or not current. */
async function prepare() {
  const machine = machineNode();
  const node = machine.suffices ? machine : privateNode;
  const steps = [...(machine.suffices ? [] : [privateNode]), dependencies(node), build(node)];

  if (!steps.every((step) => step.isCurrent())) {
    await exclusively(async () => {
      for (const step of steps) if (!step.isCurrent()) await step.make();
    });
  }
  // An installation empties node_modules, so the link comes last.
  if (machine.suffices) privateNode.unlink();
  else privateNode.link();
  return node.path;
}

module.exports = { prepare };
