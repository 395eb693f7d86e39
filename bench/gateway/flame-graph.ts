import type { ProfileFrame } from './profile-tree';

const WIDTH = 1_400;
const ROW_HEIGHT = 17;
const MIN_WIDTH = 0.6;
const CHARACTER_WIDTH = 6.6;

/** Renders a flame graph as script-free SVG; hovering over a box shows its full label. */
export function flameGraph(root: ProfileFrame, title: string): string {
  const boxes: string[] = [];
  const scale = WIDTH / root.total;
  let depth = 0;
  const draw = (frames: readonly ProfileFrame[], left: number, row: number): void => {
    let x = left;
    for (const frame of mergeFrames(frames)) {
      const boxWidth = frame.total * scale;
      if (boxWidth >= MIN_WIDTH) {
        depth = Math.max(depth, row);
        boxes.push(box(frame, x, row, boxWidth, root.total));
        draw(frame.children, x, row + 1);
      }
      x += boxWidth;
    }
  };
  draw(root.children, 0, 0);
  const height = (depth + 1) * ROW_HEIGHT + 30;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="monospace" font-size="11">`,
    `<rect width="100%" height="100%" fill="#fff"/><text x="6" y="18" font-size="13">${escaped(title)}</text>`,
    ...boxes,
    '</svg>\n',
  ].join('\n');
}

/** Merges callers in different lines of a function into one box. */
function mergeFrames(frames: readonly ProfileFrame[]): ProfileFrame[] {
  const byName = new Map<string, ProfileFrame>();
  for (const frame of frames) {
    const key = `${frame.name} ${frame.location}`;
    const existing = byName.get(key);
    if (existing === undefined) byName.set(key, { ...frame, children: [...frame.children] });
    else {
      existing.self += frame.self;
      existing.total += frame.total;
      existing.children.push(...frame.children);
    }
  }
  return [...byName.values()].sort((a, b) => b.total - a.total);
}

function box(
  { name, location: place, total }: ProfileFrame,
  x: number,
  row: number,
  width: number,
  all: number,
): string {
  const top = 28 + row * ROW_HEIGHT;
  const maxCharacters = Math.floor((width - 6) / CHARACTER_WIDTH);
  const text =
    maxCharacters < 3
      ? ''
      : `<text x="${(x + 3).toFixed(1)}" y="${top + 12}">${escaped(name.slice(0, maxCharacters))}</text>`;
  const tip = `${name} · ${place} · ${((100 * total) / all).toFixed(2)} %`;
  return (
    `<g><title>${escaped(tip)}</title>` +
    `<rect x="${x.toFixed(1)}" y="${top}" width="${Math.max(0.3, width - 0.4).toFixed(1)}" height="${ROW_HEIGHT - 1}" fill="${colourOf(place)}"/>` +
    `${text}</g>`
  );
}

/** Colours the product, its packages, Node and the engine differently. */
function colourOf(place: string): string {
  if (place.startsWith('src/')) return '#f4a261';
  if (place.startsWith('node:')) return '#a8dadc';
  return place === 'V8 and libuv' ? '#d8d8d8' : '#e9c46a';
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
