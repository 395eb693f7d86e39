import type { Frame } from './profile-tree';

const WIDTH = 1_400;
const ROW = 17;
const LEAST_WIDTH = 0.6;
const CHARACTER = 6.6;

/** A flame graph as a picture that needs no script; what a box is called in full shows when one points at it. */
export function flameGraph(root: Frame, title: string): string {
  const boxes: string[] = [];
  const scale = WIDTH / root.total;
  let depth = 0;
  const draw = (frames: readonly Frame[], left: number, row: number): void => {
    let x = left;
    for (const frame of merged(frames)) {
      const width = frame.total * scale;
      if (width >= LEAST_WIDTH) {
        depth = Math.max(depth, row);
        boxes.push(box(frame, x, row, width, root.total));
        draw(frame.children, x, row + 1);
      }
      x += width;
    }
  };
  draw(root.children, 0, 0);
  const height = (depth + 1) * ROW + 30;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="monospace" font-size="11">`,
    `<rect width="100%" height="100%" fill="#fff"/><text x="6" y="18" font-size="13">${escaped(title)}</text>`,
    ...boxes,
    '</svg>\n',
  ].join('\n');
}

/** Callers in different lines of a function are one box. */
function merged(frames: readonly Frame[]): Frame[] {
  const byName = new Map<string, Frame>();
  for (const frame of frames) {
    const key = `${frame.name} ${frame.place}`;
    const known = byName.get(key);
    if (known === undefined) byName.set(key, { ...frame, children: [...frame.children] });
    else {
      known.self += frame.self;
      known.total += frame.total;
      known.children.push(...frame.children);
    }
  }
  return [...byName.values()].sort((a, b) => b.total - a.total);
}

function box({ name, place, total }: Frame, x: number, row: number, width: number, all: number): string {
  const top = 28 + row * ROW;
  const room = Math.floor((width - 6) / CHARACTER);
  const text =
    room < 3 ? '' : `<text x="${(x + 3).toFixed(1)}" y="${top + 12}">${escaped(name.slice(0, room))}</text>`;
  const tip = `${name} · ${place} · ${((100 * total) / all).toFixed(2)} %`;
  return (
    `<g><title>${escaped(tip)}</title>` +
    `<rect x="${x.toFixed(1)}" y="${top}" width="${Math.max(0.3, width - 0.4).toFixed(1)}" height="${ROW - 1}" fill="${colourOf(place)}"/>` +
    `${text}</g>`
  );
}

/** The product, its packages, Node, and the engine below. */
function colourOf(place: string): string {
  if (place.startsWith('src/')) return '#f4a261';
  if (place.startsWith('node:')) return '#a8dadc';
  return place === 'V8 and libuv' ? '#d8d8d8' : '#e9c46a';
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
