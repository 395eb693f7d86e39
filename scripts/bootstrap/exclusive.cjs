'use strict';
const fs = require('node:fs');
const { performance } = require('node:perf_hooks');
const { setTimeout: delay } = require('node:timers/promises');
const { inProject } = require('./run.cjs');

const file = inProject('.bootstrap.lock');
const deadlineMs = 15 * 60_000;

/** Two starts in the same folder at once would install over each other: the second waits for the first. */
async function exclusively(work, lock = file) {
  await acquire(lock);
  try {
    await work();
  } finally {
    fs.rmSync(lock, { force: true });
  }
}

async function acquire(lock) {
  const own = `${lock}.${process.pid}`;
  fs.writeFileSync(own, String(process.pid));
  const started = performance.now();
  let told = false;
  try {
    while (!linked(own, lock)) {
      const holder = holderOf(lock);
      if (holder !== undefined && !lives(holder)) {
        release(lock, holder);
        continue;
      }
      if (performance.now() - started > deadlineMs) {
        throw new Error(`process ${holder} has been preparing this folder for too long; see what it does.`);
      }
      if (!told) console.log(`Process ${holder} is preparing this folder; waiting for it …`);
      told = true;
      await delay(200);
    }
  } finally {
    fs.rmSync(own, { force: true });
  }
}

/** A hard link appears with its whole content or not at all. */
function linked(from, to) {
  try {
    fs.linkSync(from, to);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

/** Takes a dead holder's lock away, unless somebody faster has already put a living one in its place. */
function release(lock, dead) {
  const aside = `${lock}.dead-${process.pid}`;
  try {
    fs.renameSync(lock, aside);
  } catch {
    return;
  }
  if (holderOf(aside) !== dead) linked(aside, lock);
  fs.rmSync(aside, { force: true });
}

function holderOf(lock) {
  try {
    return Number(fs.readFileSync(lock, 'utf8'));
  } catch {
    return undefined;
  }
}

function lives(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

module.exports = { exclusively };
