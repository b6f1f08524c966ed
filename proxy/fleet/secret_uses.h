/* secret_uses.h - a row for each thing that is signed: its name, and the label of its key. A label never
 * changes: nodes of two versions would not know each other. */
SECRET_USE(RECORD, "twice fleet record 1")
SECRET_USE(DRAIN, "twice fleet drain 1")
SECRET_USE(HOP, "twice fleet hop 1")
SECRET_USE(JOURNAL, "twice fleet journal 1")
