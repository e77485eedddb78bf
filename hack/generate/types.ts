// What a generator of documentation is.

/** Renders one file, or one section of a file that is otherwise written by hand. */
export interface Generator {
  /** Path from the project's root. */
  readonly path: string;
  /** Name in the marks `<!-- generated: NAME -->` … `<!-- /generated: NAME -->`; omitted: the whole file. */
  readonly section?: string;
  render(): string | Promise<string>;
}
