import { readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** CPU profile in V8's format. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: {
      readonly functionName: string;
      readonly url: string;
      readonly lineNumber: number;
      readonly columnNumber: number;
    };
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** A function within its call path; times in microseconds. */
export interface ProfileFrame {
  readonly name: string;
  readonly location: string;
  readonly children: ProfileFrame[];
  self: number;
  total: number;
}

/** Waiting does not count as work. */
const idle = new Set(['(idle)', '(program)']);

export function treeOf({ nodes, samples, timeDeltas }: CpuProfile, project: string): ProfileFrame {
  const sources = new SourceMaps();
  const frames = new Map(
    nodes.map(({ id, callFrame }): [number, ProfileFrame] => [
      id,
      {
        name: callFrame.functionName || '(anonymous)',
        location: formatLocation(sources.of(callFrame), project),
        children: [],
        self: 0,
        total: 0,
      },
    ]),
  );
  for (const { id, children } of nodes) {
    for (const child of children ?? []) {
      const frame = frames.get(child);
      if (frame !== undefined) frames.get(id)?.children.push(frame);
    }
  }
  samples.forEach((id, sample) => {
    const frame = frames.get(id);
    if (frame !== undefined && frame.name !== '(idle)') frame.self += timeDeltas[sample] ?? 0;
  });
  const root = frames.get(nodes[0]?.id ?? 0);
  if (root === undefined) throw new Error('the profile is empty');
  addUp(root);
  return root;
}

function addUp(frame: ProfileFrame): number {
  frame.total = frame.children.reduce((sum, child) => sum + addUp(child), frame.self);
  return frame.total;
}

interface SourceLocation {
  readonly path: string;
  readonly line: number;
}

/** Maps positions in the bundle back to the source files. */
class SourceMaps {
  private readonly maps = new Map<string, SourceMap | null>();

  of({ url, lineNumber, columnNumber }: CpuProfile['nodes'][number]['callFrame']): SourceLocation {
    const path = url.startsWith('file:') ? fileURLToPath(url) : url;
    const entry = this.mapOf(path)?.findEntry(lineNumber, columnNumber);
    if (entry === undefined || !('originalSource' in entry)) return { path, line: lineNumber };
    return { path: resolve(dirname(path), entry.originalSource), line: entry.originalLine };
  }

  private mapOf(path: string): SourceMap | null {
    const cachedMap = this.maps.get(path);
    if (cachedMap !== undefined) return cachedMap;
    const sourceMap = path.includes('/dist/bundle/') ? readMapOf(path) : null;
    this.maps.set(path, sourceMap);
    return sourceMap;
  }
}

const readMapOf = (path: string): SourceMap =>
  new SourceMap(JSON.parse(readFileSync(`${path}.map`, 'utf8')) as SourceMapPayload);

/** Formats a path relative to the project, or a package by its name. */
function formatLocation({ path, line }: SourceLocation, project: string): string {
  if (path === '') return 'V8 and libuv';
  if (path.startsWith('node:')) return path;
  const inPackage = path.lastIndexOf('/node_modules/');
  if (inPackage !== -1) return path.slice(inPackage + '/node_modules/'.length);
  const relativePath = path.startsWith(project) ? path.slice(project.length + 1) : path;
  return `${relativePath.replace(/^dist\//, '').replace(/\.js$/, '.ts')}:${line + 1}`;
}

/** Returns the functions with the most self time, summed over all callers. */
export function topBySelfTime(root: ProfileFrame, count: number): ProfileFrame[] {
  const byLocation = new Map<string, ProfileFrame>();
  visit(root, (frame) => {
    const key = `${frame.name} ${frame.location}`;
    const existing = byLocation.get(key);
    if (existing === undefined) byLocation.set(key, { ...frame, children: [] });
    else existing.self += frame.self;
  });
  return [...byLocation.values()].sort((a, b) => b.self - a.self).slice(0, count);
}

/** Self time by package or by module of the product. */
export function selfTimeByGroup(root: ProfileFrame): [string, number][] {
  const sums = new Map<string, number>();
  visit(root, ({ name, location: place, self }) => {
    const group = groupOf(name, place);
    sums.set(group, (sums.get(group) ?? 0) + self);
  });
  return [...sums].sort(([, a], [, b]) => b - a);
}

function groupOf(name: string, location: string): string {
  if (idle.has(name) || name === '(garbage collector)') return name;
  if (location === 'V8 and libuv') return 'V8 and libuv';
  if (location.startsWith('node:')) return location.split('/').slice(0, 2).join('/');
  if (location.startsWith('src/')) return location.split('/').slice(0, 3).join('/').replace(/:\d+$/, '');
  return location
    .split('/')
    .slice(0, location.startsWith('@') ? 2 : 1)
    .join('/');
}

function visit(frame: ProfileFrame, see: (frame: ProfileFrame) => void): void {
  see(frame);
  for (const child of frame.children) visit(child, see);
}
