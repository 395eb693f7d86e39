import { readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** V8 writes this. */
export interface Profile {
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

/** A function as called from above it; times in microseconds. */
export interface Frame {
  readonly name: string;
  readonly place: string;
  readonly children: Frame[];
  self: number;
  total: number;
}

/** Waiting is no work. */
const idle = new Set(['(idle)', '(program)']);

export function treeOf({ nodes, samples, timeDeltas }: Profile, project: string): Frame {
  const sources = new Sources();
  const frames = new Map(
    nodes.map(({ id, callFrame }): [number, Frame] => [
      id,
      {
        name: callFrame.functionName || '(anonymous)',
        place: placeOf(sources.of(callFrame), project),
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

function addUp(frame: Frame): number {
  frame.total = frame.children.reduce((sum, child) => sum + addUp(child), frame.self);
  return frame.total;
}

interface Place {
  readonly path: string;
  readonly line: number;
}

/** The bundle's source maps lead back to the files that were written. */
class Sources {
  private readonly maps = new Map<string, SourceMap | null>();

  of({ url, lineNumber, columnNumber }: Profile['nodes'][number]['callFrame']): Place {
    const path = url.startsWith('file:') ? fileURLToPath(url) : url;
    const entry = this.mapOf(path)?.findEntry(lineNumber, columnNumber);
    if (entry === undefined || !('originalSource' in entry)) return { path, line: lineNumber };
    return { path: resolve(dirname(path), entry.originalSource), line: entry.originalLine };
  }

  private mapOf(path: string): SourceMap | null {
    const known = this.maps.get(path);
    if (known !== undefined) return known;
    const found = path.includes('/dist/bundle/') ? mapBeside(path) : null;
    this.maps.set(path, found);
    return found;
  }
}

const mapBeside = (path: string): SourceMap =>
  new SourceMap(JSON.parse(readFileSync(`${path}.map`, 'utf8')) as SourceMapPayload);

/** Paths as they are in the project, or as packages are called. */
function placeOf({ path, line }: Place, project: string): string {
  if (path === '') return 'V8 and libuv';
  if (path.startsWith('node:')) return path;
  const inPackage = path.lastIndexOf('/node_modules/');
  if (inPackage !== -1) return path.slice(inPackage + '/node_modules/'.length);
  const inside = path.startsWith(project) ? path.slice(project.length + 1) : path;
  return `${inside.replace(/^dist\//, '').replace(/\.js$/, '.ts')}:${line + 1}`;
}

/** The functions with the most time of their own, by all callers. */
export function dearest(root: Frame, count: number): Frame[] {
  const byPlace = new Map<string, Frame>();
  visit(root, (frame) => {
    const key = `${frame.name} ${frame.place}`;
    const known = byPlace.get(key);
    if (known === undefined) byPlace.set(key, { ...frame, children: [] });
    else known.self += frame.self;
  });
  return [...byPlace.values()].sort((a, b) => b.self - a.self).slice(0, count);
}

/** The same by package, or by module of the product. */
export function groupsOf(root: Frame): [string, number][] {
  const sums = new Map<string, number>();
  visit(root, ({ name, place, self }) => {
    const group = groupOf(name, place);
    sums.set(group, (sums.get(group) ?? 0) + self);
  });
  return [...sums].sort(([, a], [, b]) => b - a);
}

function groupOf(name: string, place: string): string {
  if (idle.has(name) || name === '(garbage collector)') return name;
  if (place === 'V8 and libuv') return 'V8 and libuv';
  if (place.startsWith('node:')) return place.split('/').slice(0, 2).join('/');
  if (place.startsWith('src/')) return place.split('/').slice(0, 3).join('/').replace(/:\d+$/, '');
  return place
    .split('/')
    .slice(0, place.startsWith('@') ? 2 : 1)
    .join('/');
}

function visit(frame: Frame, see: (frame: Frame) => void): void {
  see(frame);
  for (const child of frame.children) visit(child, see);
}
