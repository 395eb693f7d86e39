'use strict';
// Properties are tried with the same cases in every run; FAST_CHECK_SEED tries others.
const fc = require('fast-check');

fc.configureGlobal({ seed: Number(process.env.FAST_CHECK_SEED ?? 1_871) });
