/** It says where something stands in a file: its way from the root and its line. */
export interface Place {
  readonly path: string;
  readonly line: number;
}

export interface FileFault extends Place {
  readonly problem: string;
}

/** Carries every fault of a file at once. */
export class FileFaults extends Error {
  constructor(
    readonly file: string,
    readonly faults: readonly FileFault[],
  ) {
    super(
      [
        `${file} has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:`,
        ...faults.toSorted((a, b) => a.line - b.line).map((fault) => `  ${lineOf(file, fault)}`),
        'Nothing was changed. docs/gateway-yaml.md describes the format.',
      ].join('\n'),
    );
    this.name = 'FileFaults';
  }
}

const lineOf = (file: string, { path, line, problem }: FileFault): string =>
  `${file}:${line}  ${path === '' ? '' : `${path}: `}${problem}`;
