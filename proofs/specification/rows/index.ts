import type { Row } from '../row';
import { gatewayRows } from './gateway';
import { portalRows } from './portal';

const places = (section: string): number[] => section.split('.').map(Number);

/** 4.9 before 4.10. */
function inOrder(one: Row, other: Row): number {
  const [mine, theirs] = [places(one.section), places(other.section)];
  const place = mine.findIndex((number, index) => number !== theirs[index]);
  return place === -1 ? mine.length - theirs.length : (mine[place] ?? 0) - (theirs[place] ?? -1);
}

/** Those of the gateway, and those of the portal. */
export const halves: readonly (readonly Row[])[] = [gatewayRows, portalRows].map((half) =>
  half.toSorted(inOrder),
);

/** All statements in the order of the document. */
export const rows: readonly Row[] = halves.flat().toSorted(inOrder);
