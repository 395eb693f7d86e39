import type { Figure, TableModel, Translate } from '../../views';

interface Column {
  /** A key of the locales. */
  readonly key: string;
  readonly end?: true;
  readonly minor?: true;
}

export interface TableInput {
  readonly caption: string;
  readonly columns: readonly (string | Column)[];
  readonly rows: readonly { readonly href?: string; readonly cells: readonly Figure[] }[];
}

/** A table of few rows. Its first column names the row; cells are aligned like their columns. */
export function tableOf({ caption, columns, rows }: TableInput, translate: Translate): TableModel {
  const placed = columns.map((column) => (typeof column === 'string' ? { key: column } : column));
  const localisation = placed.map(({ end, minor }: Column) => ({
    ...(end === undefined ? {} : { align: 'end' as const }),
    ...(minor === undefined ? {} : { minor }),
  }));
  return {
    caption: translate(caption),
    columns: placed.map(({ key }, place) => ({ label: translate(key), ...localisation[place] })),
    rows: rows.map(({ href, cells }) => ({
      ...(href === undefined ? {} : { href }),
      cells: cells.map((cell, place) => ({
        ...cell,
        ...localisation[place],
        ...(place === 0 ? { heading: true } : {}),
      })),
    })),
    empty: {
      title: translate('administration.nothing-title'),
      text: translate('administration.nothing-text'),
    },
  };
}
