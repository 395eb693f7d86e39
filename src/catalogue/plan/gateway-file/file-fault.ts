export interface FilePosition {
  readonly path: string;
  readonly line: number;
}

export interface FileFault extends FilePosition {
  readonly problem: string;
}

export class FileFaults extends Error {
  constructor(
    readonly file: string,
    readonly faults: readonly FileFault[],
  ) {
    super(
      [
        `${file} has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:`,
        ...faults.toSorted((a, b) => a.line - b.line).map((fault) => `  ${formatFault(file, fault)}`),
        'Nothing was changed. docs/gateway-yaml.md describes the format.',
      ].join('\n'),
    );
    this.name = 'FileFaults';
  }
}

const formatFault = (file: string, { path, line, problem }: FileFault): string =>
  `${file}:${line}  ${path === '' ? '' : `${path}: `}${problem}`;
