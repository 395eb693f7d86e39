'use strict';
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const { dirname, relative, sep } = require('node:path');
const { announced, inProject, npm } = require('./run.cjs');

const needed = [22, 19];
const folder = inProject('.node24');
const executable = inProject('.node24', 'node_modules', 'node', 'bin', 'node');
/** npm puts this folder first on the PATH of every script of the project. */
const link = inProject('node_modules', '.bin', 'node');

/** The Node that npm itself runs with; process.execPath may already be the one that an earlier start linked. */
function machineNode() {
  const path = process.env.npm_node_execpath || process.execPath;
  // npm called from within a script of the project finds the linked Node: that tells nothing of the machine.
  const isPrivate = realPath(path).startsWith(folder + sep);
  const version = path === process.execPath ? process.version : versionOf(path);
  return { path, major: () => majorOf(version), suffices: !isPrivate && isEnough(version) };
}

/** Node 24 from npm, in a folder of its own, for machines whose Node is older than the product needs. */
const privateNode = {
  path: executable,
  major: () => '24',

  isCurrent: () => majorOf(versionOf(executable)) === '24',

  make: () =>
    announced(
      `Node ${needed.join('.')} or newer is needed, this is ${process.version}: installing Node 24 in .node24`,
      async () => {
        fs.rmSync(folder, { recursive: true, force: true });
        fs.mkdirSync(folder, { recursive: true });
        fs.writeFileSync(inProject('.node24', 'package.json'), '{ "private": true }\n');
        // The package fetches the Node of this platform in its install script.
        await npm(
          [
            'install',
            'node@24',
            '--ignore-scripts=false',
            '--no-package-lock',
            '--no-save',
            '--prefix',
            folder,
          ],
          {
            cwd: folder,
          },
        );
        if (!privateNode.isCurrent()) {
          throw new Error(
            `Node 24 could not be installed from npm. Install Node ${needed.join('.')} or newer yourself.`,
          );
        }
      },
    ),

  link() {
    if (process.platform === 'win32') {
      console.log(`On Windows put ${dirname(executable)} first on the PATH, or install Node 24.`);
      return;
    }
    if (realPath(link) === realPath(executable)) return;
    const fresh = `${link}.${process.pid}`;
    fs.symlinkSync(relative(dirname(link), executable), fresh);
    fs.renameSync(fresh, link);
    console.log('The scripts of this project run with Node 24 from .node24.');
  },

  unlink() {
    if (fs.lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink()) fs.unlinkSync(link);
  },
};

function versionOf(path) {
  try {
    return execFileSync(path, ['--version'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return '';
  }
}

function majorOf(version) {
  return version.replace(/^v/, '').split('.')[0];
}

function isEnough(version) {
  const [major, minor] = version.replace(/^v/, '').split('.').map(Number);
  return major > needed[0] || (major === needed[0] && minor >= needed[1]);
}

function realPath(path) {
  try {
    return fs.realpathSync(path);
  } catch {
    return path;
  }
}

module.exports = { isEnough, machineNode, privateNode };
