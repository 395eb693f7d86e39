export interface DescribedInterface {
  readonly source: { readonly package: string; readonly description: string; readonly version: string };
  readonly calls: Readonly<Record<string, string>>;
  readonly objects: Readonly<Record<string, string>>;
  readonly events: string;
  readonly refusals: string;
}
