'use strict';
// A test file runs in the realm of its worker, as the product does in its process. In a context of its own
// every global costs more, and what a shared package throws is no `Error`.
const { ModernFakeTimers } = require('@jest/fake-timers');
const { ModuleMocker } = require('jest-mock');

/** The decorators of forms and tables have noted these: their modules are loaded once for all files. */
const kept = new Set(['classValidatorMetadataStorage', 'typeormMetadataArgsStorage']);

class WorkerEnvironment {
  constructor({ projectConfig }) {
    this.foundExit = process.exit;
    this.foundVariables = Object.getOwnPropertyDescriptors(process.env);
    this.foundGlobals = Object.getOwnPropertyDescriptors(globalThis);
    this.global = globalThis;
    this.moduleMocker = new ModuleMocker(globalThis);
    this.fakeTimers = null;
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  getVmContext() {
    return globalThis;
  }

  async setup() {}

  /** The next file finds what this one found. */
  async teardown() {
    this.fakeTimersModern.dispose();
    restore(globalThis, this.foundGlobals);
    restore(process.env, this.foundVariables);
    process.exit = this.foundExit;
  }
}

function restore(object, found) {
  for (const key of Reflect.ownKeys(object))
    if (!Object.hasOwn(found, key) && !kept.has(key)) Reflect.deleteProperty(object, key);
  Object.defineProperties(object, found);
}

module.exports = WorkerEnvironment;
