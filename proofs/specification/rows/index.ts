import type { SpecificationRow } from '../row';
import { gatewayRows } from './gateway';
import { portalRows } from './portal';

const sectionNumbers = (section: string): number[] => section.split('.').map(Number);

/** 4.9 before 4.10. */
function compareSections(one: SpecificationRow, other: SpecificationRow): number {
  const [mine, theirs] = [sectionNumbers(one.section), sectionNumbers(other.section)];
  const place = mine.findIndex((number, index) => number !== theirs[index]);
  return place === -1 ? mine.length - theirs.length : (mine[place] ?? 0) - (theirs[place] ?? -1);
}

/** Rows of the gateway and rows of the portal. */
export const halves: readonly (readonly SpecificationRow[])[] = [gatewayRows, portalRows].map((half) =>
  half.toSorted(compareSections),
);

/** All statements in the order of the document. */
export const rows: readonly SpecificationRow[] = halves.flat().toSorted(compareSections);
